import { jsonReply } from '../http/message.ts'
import { Problem } from '../http/problem.ts'

/** @param whyNotReady Tells what keeps the service from taking changes; undefined when nothing does. */
export function healthHandlers(whyNotReady: () => string | undefined) {
  return { healthz, readyz }

  function healthz() {
    return jsonReply(200, { status: 'ok' })
  }

  function readyz() {
    const reason = whyNotReady()
    if (reason !== undefined) throw new Problem(503, 'not_ready', reason, { headers: { 'Retry-After': '5' } })
    return jsonReply(200, { status: 'ready' })
  }
}
