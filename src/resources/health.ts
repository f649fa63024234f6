import { jsonReply, type Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'

/** A question about reads alone. Probes may add what they like. */
const READS = /(?:^|&)reads=1(?:&|$)/

/**
 * @param whyNotReady Why the service cannot take changes now; undefined when it can.
 * @param whyNotReadable Why it cannot answer reads either.
 */
export function healthHandlers(
  whyNotReady: () => string | undefined,
  whyNotReadable: () => string | undefined,
) {
  return { healthz, readyz }

  function healthz() {
    return jsonReply(200, { status: 'ok' })
  }

  function readyz({ query }: Pick<Request, 'query'>) {
    const reason = READS.test(query) ? whyNotReadable() : whyNotReady()
    if (reason !== undefined) throw new Problem('not_ready', reason, { headers: { 'Retry-After': '5' } })
    return jsonReply(200, { status: 'ready' })
  }
}
