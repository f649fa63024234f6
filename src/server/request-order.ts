import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { callerKey, type Reply } from '../http/message.ts'
import type { Log } from '../log.ts'
import { type App, problemReply } from './app.ts'
import type { Connection } from './connections.ts'
import { findFramingFault } from './framing.ts'
import { IncomingRequest } from './incoming-request.ts'
import type { ListenerParts } from './listener-parts.ts'
import { findOrigin, type Trust } from './proxy-trust.ts'
import { writeReply } from './reply.ts'

/** Delays an answer with `Retry-After`. */
export const REFUSAL_PAUSE_MS = 200

/** Answers the requests that Node's parser reads; on one connection one by one, in order (RFC 9112 section 9.3.2). */
export function createRequestOrder(
  parts: ListenerParts,
  trustedProxies: Trust | undefined,
  answer: AnswerRequest,
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

/** Runs a request and sends the reply; does nothing on a connection that has ended. */
type AnswerRequest = (incoming: IncomingMessage, request: IncomingRequest, connection: Connection) => void

/** @param server Once it stops listening, each answer closes its connection. */
export function createAnswering(
  { connections, intake, metrics, scheduler, untaken, kept, log, fixedHeaders }: ListenerParts,
  app: App,
  server: Server,
  hasAccessLog: boolean,
): AnswerRequest {
  return (incoming, request, connection) => {
    if (connection.isClosing || connection.socket.destroyed) return
    metrics.begin(request)
    if (hasAccessLog) logWhenDone(request, log)
    const fault = findFramingFault(incoming)
    // Node's parser drops what follows a request for an upgrade.
    const isUpgrade = incoming.headers.upgrade !== undefined
    if (fault !== undefined || isUpgrade || !request.response.shouldKeepAlive) connection.isClosing = true
    if (fault !== undefined) return send(request, connection, problemReply(fault))
    const reply = app(request)
    if (request.principal !== undefined) connections.trust(connection, callerKey(request))
    if (reply instanceof Promise) void reply.then((value) => finish(request, connection, value))
    else finish(request, connection, reply)
  }

  /** Delays a reply with `Retry-After`, so that a client that retries at once cannot keep the server busy. */
  function finish(request: IncomingRequest, connection: Connection, reply: Reply) {
    // Not known at once if the request came during the start.
    if (request.principal !== undefined) connections.trust(connection, callerKey(request))
    if (reply.headers['Retry-After'] === undefined) send(request, connection, reply)
    else setTimeout(() => send(request, connection, reply), REFUSAL_PAUSE_MS)
  }

  /** A reply that cannot be sent ends its own connection only. */
  function send(request: IncomingRequest, connection: Connection, reply: Reply) {
    try {
      const isLive = typeof reply.body === 'object' && 'begin' in reply.body
      if (request.isBodyRefused || isLive || !server.listening) connection.isClosing = true
      if (request.isBodyRefused || (connection.isClosing && connection.isStopped))
        intake.drop(connection, callerKey(request))
      const streamed = writeReply(request, reply, fixedHeaders, connection.isClosing, scheduler, untaken)
      if (streamed === undefined) return metrics.end(request, reply.status)
      const release = reply.keeps && kept.add(request, reply.keeps)
      const end = () => {
        release?.()
        metrics.end(request, reply.status)
        // Its head may have been sent before the drain, without `Connection: close`.
        if (!server.listening) server.closeIdleConnections()
      }
      void streamed.catch((error: unknown) => logFailure(request, error)).then(end)
    } catch (error) {
      logFailure(request, error)
      request.response.destroy()
      metrics.end(request, 500)
    }
  }

  function logFailure({ requestId }: IncomingRequest, error: unknown) {
    log.error('reply_failed', {
      request_id: requestId,
      reason: error instanceof Error ? error.stack : String(error),
    })
  }
}

/** Logs a request once its answer is sent, or its connection closed. */
export function logWhenDone(request: IncomingRequest, log: Log): void {
  const { response } = request
  response.once('close', () => {
    log.info('request', {
      request_id: request.requestId,
      method: request.method,
      path: request.path,
      status: response.statusCode,
      ms: Math.round((performance.now() - request.beganMs) * 10) / 10,
      address: request.address,
      account: request.principal?.name,
      complete: response.writableFinished,
    })
  })
}
