let lastMs = Number.NaN
let lastText = ''

/** Now, by the machine's clock, as logs tell it (RFC 3339): a busy server tells each millisecond often. */
export function timestamp(): string {
  const ms = Date.now()
  if (ms !== lastMs) {
    lastMs = ms
    lastText = new Date(ms).toISOString()
  }
  return lastText
}
