/**
 * Seconds that a caller prefers to wait for an answer (RFC 7240 section 4.3); undefined if it says nothing valid. The first
 * one counts.
 */
export function parseWait(prefer: string | readonly string[] | undefined): number | undefined {
  if (prefer === undefined) return undefined
  for (const preference of String(prefer).split(',')) {
    const seconds = /^[ \t]*wait[ \t]*=[ \t]*"?(\d+)"?[ \t]*(?:;.*)?$/i.exec(preference)?.[1]
    if (seconds !== undefined) return Number(seconds)
  }
  return undefined
}
