import type { RequestListener } from 'node:http'
import { callerKey } from '../http/message.ts'
import { WAITING_REQUEST_BYTES, WAITING_REQUESTS_HEAP_SHARE } from '../limits.ts'
import { heapBytesMax } from '../memory.ts'
import type { Answer } from './answering.ts'
import { IncomingRequest } from './incoming-request.ts'
import type { ListenerParts } from './listener-parts.ts'
import { findOrigin, type Trust } from './proxy-trust.ts'
import { WaitingRequests } from './waiting-requests.ts'

/** Answers the requests that Node's parser reads; on one connection one by one, in order (RFC 9112 section 9.3.2). */
export function createRequestOrder(
  { connections, scheduler, nameRequest, cutOff }: ListenerParts,
  trustedProxies: Trust | undefined,
  answer: Answer,
): RequestListener {
  const waiting = new WaitingRequests((heapBytesMax() * WAITING_REQUESTS_HEAP_SHARE) / WAITING_REQUEST_BYTES)
  let isHolding = false

  return (incoming, response) => {
    const { socket, headers } = incoming
    const connection = connections.of(socket)
    // The connection is gone; Node's parser still emits what it had buffered.
    if (connection === undefined || connection.origin.address === '' || socket.destroyed) {
      socket.destroy()
      return
    }
    connections.touch(connection)
    const { last, origin } = connection
    const request = new IncomingRequest(
      incoming,
      response,
      // No proxy may speak for the owner.
      trustedProxies === undefined || origin.isOwner ? origin : findOrigin(origin, headers, trustedProxies),
      nameRequest(headers['x-request-id']),
      scheduler,
    )
    connection.last = request
    if (last === undefined || last.response.closed) return answer(incoming, request, connection)
    if (!waiting.add(socket)) {
      cutOff(connection, `${waiting.count} requests wait for the answer to one before them`)
      return holdUntilFreed()
    }
    socket.pause()
    last.response.once('close', () => {
      if (socket.destroyed) return
      // Node resumes the socket after it has sent something.
      process.nextTick(() => socket.pause())
      // A read can bring thousands of requests.
      void scheduler.once(callerKey(request), () => {
        waiting.remove(socket)
        if (connection.last === request) socket.resume()
        answer(incoming, request, connection)
      })
    })
  }

  /** Reads nothing more until the event loop has come round, which frees the memory of closed connections. */
  function holdUntilFreed() {
    if (isHolding) return
    isHolding = true
    const resume = connections.hold()
    setImmediate(() =>
      setImmediate(() => {
        isHolding = false
        resume()
      }),
    )
  }
}
