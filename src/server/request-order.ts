import type { RequestListener } from 'node:http'
import { getHeapStatistics } from 'node:v8'
import { WAITING_REQUEST_BYTES, WAITING_REQUESTS_HEAP_SHARE } from '../limits.ts'
import type { Answer } from './answering.ts'
import { IncomingRequest } from './incoming-request.ts'
import type { ListenerParts } from './listener-parts.ts'
import { findOrigin, type Trust } from './proxy-trust.ts'
import { WaitingRequests } from './waiting-requests.ts'

/**
 * Takes what Node's parser has read and has it answered. Pipelined requests are carried out one after the other
 * (RFC 9112 section 9.3.2), and so in their order.
 *
 * @param trustedProxies Proxies that are believed when they say who calls.
 */
export function createRequestOrder(
  { connections, turns, nameRequest, cutOff }: ListenerParts,
  trustedProxies: Trust | undefined,
  answer: Answer,
): RequestListener {
  const waiting = new WaitingRequests(
    (getHeapStatistics().heap_size_limit * WAITING_REQUESTS_HEAP_SHARE) / WAITING_REQUEST_BYTES,
  )
  let isHolding = false

  return (incoming, response) => {
    const { socket } = incoming
    const connection = connections.of(socket)
    // The connection is gone; Node's parser still emits what it had read.
    if (connection === undefined || connection.origin.address === '' || socket.destroyed) {
      socket.destroy()
      return
    }
    connections.touch(connection)
    const { last, origin } = connection
    const { headers } = incoming
    const request = new IncomingRequest(
      incoming,
      response,
      trustedProxies === undefined ? origin : findOrigin(origin, headers, trustedProxies),
      nameRequest(headers['x-request-id']),
      turns,
    )
    connection.last = request
    if (last === undefined || last.response.closed) {
      answer(incoming, request, connection)
      return
    }
    if (!waiting.add(socket)) {
      cutOff(connection, `${waiting.count} requests wait for the answer to one before them`)
      holdUntilFreed()
      return
    }
    socket.pause()
    last.response.once('close', () => {
      if (socket.destroyed) return
      // Node resumes it when it has sent something.
      process.nextTick(() => socket.pause())
      // A read can bring thousands of requests.
      turns(() => {
        waiting.remove(socket)
        if (connection.last === request) socket.resume()
        answer(incoming, request, connection)
      })
    })
  }

  /** The memory of a connection is free only when the event loop has come round; until then no more may come in. */
  function holdUntilFreed() {
    if (isHolding) return
    isHolding = true
    const goOn = connections.hold()
    setImmediate(() =>
      setImmediate(() => {
        isHolding = false
        goOn()
      }),
    )
  }
}
