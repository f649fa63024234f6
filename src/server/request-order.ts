import type { RequestListener, ServerResponse } from 'node:http'
import { callerKey } from '../http/message.ts'
import { WAITING_REQUEST_BYTES, WAITING_REQUESTS_HEAP_SHARE } from '../limits.ts'
import { sharedHeapBytes } from '../memory.ts'
import type { Answer } from './answering.ts'
import type { Connection } from './connection.ts'
import { IncomingRequest } from './incoming-request.ts'
import type { ListenerParts } from './listener-parts.ts'
import { findOrigin, type Trust } from './proxy-trust.ts'
import { WaitingRequests } from './waiting-requests.ts'

/** Answers the requests that Node's parser reads; on one connection one by one, in order (RFC 9112 section 9.3.2). */
export function createRequestOrder(
  parts: ListenerParts,
  trustedProxies: Trust | undefined,
  answer: Answer,
): RequestListener {
  const { connections, scheduler, nameRequest, cutOff } = parts
  const waiting = new WaitingRequests(
    (sharedHeapBytes() * WAITING_REQUESTS_HEAP_SHARE) / WAITING_REQUEST_BYTES,
  )
  let isHolding = false

  return (incoming, response) => {
    const { socket } = incoming
    const connection = connections.of(socket)
    // The connection is gone; Node's parser still emits what it had buffered.
    if (connection === undefined || connection.origin.address === '' || socket.destroyed) {
      socket.destroy()
      return
    }
    connections.touch(connection)
    const { last, lastWaiting } = connection
    if (lastWaiting === undefined && (last === undefined || last.response.closed)) {
      return begin(receive(response, connection), connection)
    }
    if (!waiting.add(connection, response)) {
      cutOff(connection, `${waiting.count} requests wait for the answer to one before them`)
      return holdUntilFreed()
    }
    socket.pause()
    if (lastWaiting === undefined) last?.response.once('close', () => takeNext(connection))
  }

  /** Called when an answer is over that others wait for. */
  function takeNext(connection: Connection) {
    const { socket } = connection
    const response = socket.destroyed ? undefined : connection.waiting?.[0]
    if (response === undefined) return
    // Node resumes the socket after it has sent something.
    process.nextTick(() => socket.pause())
    const request = receive(response, connection)
    // A read can bring thousands of requests.
    void scheduler.once(callerKey(request), () => {
      waiting.take(connection)
      if (connection.lastWaiting === undefined) socket.resume()
      else response.once('close', () => takeNext(connection))
      begin(request, connection)
    })
  }

  function receive(response: ServerResponse, { origin }: Connection): IncomingRequest {
    const { req: incoming } = response
    const { headers } = incoming
    return new IncomingRequest(
      incoming,
      response,
      // No proxy may speak for the owner.
      trustedProxies === undefined || origin.isOwner ? origin : findOrigin(origin, headers, trustedProxies),
      nameRequest(headers['x-request-id']),
      parts,
    )
  }

  function begin(request: IncomingRequest, connection: Connection) {
    connection.last = request
    const { breakage, lastWaiting } = connection
    if (breakage !== undefined && lastWaiting === undefined) request.breakOff(breakage)
    answer(request.response.req, request, connection)
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
