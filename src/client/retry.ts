import { setTimeout } from 'node:timers/promises'
import { CALL_PAUSE_MS_MIN, CALL_RETRY_MS } from '../limits.ts'
import type { ResponseHead } from './call.ts'

export interface Patience {
  /** In milliseconds, from any start. */
  now(): number
  pause(ms: number): Promise<void>
}

const realPatience: Patience = { now: () => performance.now(), pause: (ms) => setTimeout(ms) }

/**
 * Makes a call, and repeats it while the server answers 429 or 503: after the time that its `Retry-After` says, and
 * for CALL_RETRY_MS at most.
 *
 * @returns The last answer.
 * @throws What `call` throws, at once.
 */
export async function callPatiently<Made extends ResponseHead>(
  call: () => Promise<Made>,
  { now, pause }: Patience = realPatience,
): Promise<Made> {
  const end = now() + CALL_RETRY_MS
  for (;;) {
    const answer = await call()
    const waitMs = retryAfterMs(answer)
    if (waitMs === undefined || now() + waitMs > end) return answer
    await pause(waitMs)
  }
}

/** How long the server asks to wait before the call is repeated; undefined if it is not to be repeated. */
export function retryAfterMs({ status, headers }: ResponseHead): number | undefined {
  const seconds = status === 429 || status === 503 ? retryAfterSeconds(headers) : undefined
  return seconds === undefined ? undefined : Math.max(CALL_PAUSE_MS_MIN, Number(seconds) * 1000)
}

/**
 * The seconds that `Retry-After` says, or that are left until its date (RFC 9110 section 10.2.3); undefined without either.
 *
 * @returns Decimal digits, as a server would send them.
 */
export function retryAfterSeconds(headers: ResponseHead['headers']): string | undefined {
  const text = headers['retry-after'] ?? ''
  if (/^\d{1,5}$/.test(text)) return text
  const until = parseHttpDate(text)
  if (until === undefined) return undefined
  // By the clock that made the date, which may be another one.
  const now = parseHttpDate(headers.date ?? '') ?? Date.now()
  return String(Math.max(0, Math.ceil((until - now) / 1000)))
}

/** Today's form, and the two that a recipient must still accept (RFC 9110 section 5.6.7). */
const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT|[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} [\d:]{8} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})$/

/** Milliseconds since 1970; undefined if the text is not such a date. */
function parseHttpDate(text: string): number | undefined {
  if (!HTTP_DATE.test(text)) return undefined
  const time = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(time) ? undefined : time
}
