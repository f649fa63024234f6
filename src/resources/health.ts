import { jsonReply } from '../http/message.ts'
import { Problem } from '../http/problem.ts'

/** @param whyNotReady Why the service cannot take changes now; undefined when it can. */
export function healthHandlers(whyNotReady: () => string | undefined) {
  return { healthz, readyz }

  function healthz() {
    return jsonReply(200, { status: 'ok' })
  }

  function readyz() {
    const reason = whyNotReady()
    if (reason !== undefined) throw new Problem('not_ready', reason, { headers: { 'Retry-After': '5' } })
    return jsonReply(200, { status: 'ready' })
  }
}
