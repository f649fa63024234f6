/** What `parseMoment` reads, as messages name it. */
export const MOMENT_FORMS =
  'a time as RFC 3339 has it, such as 2026-01-31T08:00:00Z, or how long ago: 7d, 12h or 30m'

const RFC_3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/
const AGO = /^(0|[1-9]\d{0,8})([dhm])$/
const UNIT_MS = { d: 24 * 60 * 60_000, h: 60 * 60_000, m: 60_000 } as const

/**
 * Reads a point in time, as RFC 3339 has it, or as days, hours or minutes ago.
 *
 * @returns RFC 3339 in UTC with milliseconds, not before 1970 if it is so long ago; undefined for any other text.
 */
export function parseMoment(text: string, nowMs: number): string | undefined {
  const [, amount, unit] = AGO.exec(text) ?? []
  if (unit === 'd' || unit === 'h' || unit === 'm')
    return new Date(Math.max(0, nowMs - Number(amount) * UNIT_MS[unit])).toISOString()
  const [, local] = RFC_3339.exec(text) ?? []
  if (local === undefined) return undefined
  const ms = Date.parse(text)
  // A day that the month does not have, and a leap second.
  if (Number.isNaN(ms) || !new Date(Date.parse(`${local}Z`)).toISOString().startsWith(local)) return undefined
  const utc = new Date(ms).toISOString()
  return utc.length === '2026-01-31T08:00:00.000Z'.length ? utc : undefined
}
