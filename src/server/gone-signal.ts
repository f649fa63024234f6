import type { ServerResponse } from 'node:http'
import { Problem } from '../http/problem.ts'
import { HALF_CLOSED_PROBE_MS } from '../limits.ts'

/**
 * A signal that is aborted when the connection of an answer closes.
 *
 * A client that has sent its last byte may still wait for the answer, or be gone: TCP tells them apart only when
 * something is sent. So it gets a 102 (Processing) now and then until the answer begins, which a client that waits
 * skips (RFC 9110 section 15.2). HTTP/1.0 has no such answers.
 */
export function createGoneSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  const { socket, httpVersion } = response.req
  const gone = () =>
    controller.abort(new Problem('client_gone', 'The connection ended before the answer was ready'))
  if (response.closed || socket.destroyed) {
    gone()
    return controller.signal
  }
  let timer: NodeJS.Timeout | undefined
  const probe = () => {
    if (response.headersSent) return
    response.writeProcessing()
    timer = setTimeout(probe, HALF_CLOSED_PROBE_MS)
  }
  response.once('close', () => {
    clearTimeout(timer)
    socket.off('end', probe)
    gone()
  })
  if (httpVersion === '1.0') return controller.signal
  if (socket.readableEnded) probe()
  else socket.once('end', probe)
  return controller.signal
}
