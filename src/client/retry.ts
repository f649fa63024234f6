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
 * Makes a call, and repeats it while the server answers 429 or 503: after as many seconds as its `Retry-After` says, and
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
  const { 'retry-after': seconds } = headers
  const isBusy = status === 429 || status === 503
  return isBusy && seconds !== undefined && /^\d{1,5}$/.test(seconds)
    ? Math.max(CALL_PAUSE_MS_MIN, Number(seconds) * 1000)
    : undefined
}
