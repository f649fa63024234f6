let lastMs = Number.NaN
let lastText = ''

/** The time by the system clock, for logs (RFC 3339). Cached: a busy server asks often in one millisecond. */
export function timestamp(): string {
  const ms = Date.now()
  if (ms !== lastMs) {
    lastMs = ms
    lastText = new Date(ms).toISOString()
  }
  return lastText
}
