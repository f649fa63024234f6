import type { ServerResponse } from 'node:http'
import { Problem } from '../http/problem.ts'

/** Between looks whether a client that sends nothing more still waits for a long answer. */
export const HALF_CLOSED_PROBE_MS = 250

export interface GoneSignal {
  /** Aborted when the connection closes. */
  readonly signal: AbortSignal
  /** Call it when the connection is no longer read, so that its end would not be seen: from now on it is probed. */
  probe(): void
}

/**
 * Watches the connection of an answer.
 *
 * A client that has sent its last byte may still wait for the answer, or be gone: TCP tells them apart only when
 * something is sent. So it gets a 102 (Processing) now and then until the answer begins, which a client that waits
 * skips (RFC 9110 section 15.2). HTTP/1.0 has no such answers.
 */
export function watchForEnd(response: ServerResponse): GoneSignal {
  const controller = new AbortController()
  const { socket, httpVersion } = response.req
  const gone = () =>
    controller.abort(new Problem('client_gone', 'The connection ended before the answer was ready'))
  let timer: NodeJS.Timeout | undefined
  const repeat = () => {
    if (response.headersSent || response.closed) return
    response.writeProcessing()
    timer = setTimeout(repeat, HALF_CLOSED_PROBE_MS)
  }
  const probe = () => {
    if (timer === undefined && httpVersion !== '1.0') repeat()
  }
  const watched = { signal: controller.signal, probe }
  if (response.closed || socket.destroyed) {
    gone()
    return watched
  }
  response.once('close', () => {
    clearTimeout(timer)
    socket.off('end', probe)
    gone()
  })
  if (socket.readableEnded) probe()
  else socket.once('end', probe)
  return watched
}
