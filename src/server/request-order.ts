import type { RequestListener, ServerResponse } from 'node:http'
import { callerKey } from '../http/message.ts'
import type { Answer } from './answering.ts'
import type { Connection } from './connection.ts'
import { IncomingRequest } from './incoming-request.ts'
import type { ListenerParts } from './listener-parts.ts'
import { findOrigin, type Trust } from './proxy-trust.ts'

/** Answers the requests that Node's parser reads; on one connection one by one, in order (RFC 9112 section 9.3.2). */
export function createRequestOrder(
  parts: ListenerParts,
  trustedProxies: Trust | undefined,
  answer: Answer,
): RequestListener {
  const { connections, intake, scheduler, nameRequest } = parts

  return (incoming, response) => {
    const { socket } = incoming
    const connection = connections.of(socket)
    // The connection is gone, and Node's parser still emits what it had buffered; or what follows a request for an upgrade
    // passes for another request.
    if (
      connection === undefined ||
      connection.origin.address === '' ||
      connection.next !== undefined ||
      socket.destroyed
    ) {
      socket.destroy()
      return
    }
    connections.touch(connection)
    const { last } = connection
    const request = receive(response, connection)
    if (last === undefined || last.response.closed) return begin(request, connection)
    if (connection.isClosing) return intake.drop(connection, callerKey(request))
    intake.stop(connection, request)
    last.response.once('close', () => takeNext(connection))
  }

  /** Called when an answer is over that another request waits for. */
  function takeNext(connection: Connection) {
    const { next, account } = connection
    if (next === undefined) return
    // Parsing is work, too, so it takes turns. Who has shown a credential does not wait for the strangers of his network.
    void scheduler.once(account ?? callerKey(next), () => {
      if (connection.isClosing || connection.socket.destroyed) return intake.forget(connection)
      connection.last = next
      intake.goOn(connection)
      begin(next, connection)
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
    answer(request.response.req, request, connection)
  }
}
