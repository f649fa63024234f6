import { ETCD_ATTEMPT_MS } from '../limits.ts'
import {
  parseAnswer,
  readLeaseId,
  readRangeAnswer,
  readTransactionAnswer,
  readWatchFrame,
} from './answers.ts'
import { EtcdError } from './etcd-error.ts'
import { type EtcdLogin, EtcdSession } from './etcd-session.ts'
import type { EtcdTls } from './etcd-tls.ts'
import { HttpClient, type PostOptions } from './http-client.ts'
import type {
  RangeAnswer,
  RangeQuery,
  Transaction,
  TransactionAnswer,
  WatchEvent,
  WatchMessage,
} from './messages.ts'
import { leaseBody, rangeBody, transactionBody, watchBody } from './requests.ts'

/** The JSON gateway of an etcd cluster: calls go to one member, and to the next one when it does not answer. */
export interface Gateway {
  /** The member in use. */
  readonly endpoint: string
  /** Changes to the next member. */
  useNext(): void
  /** Reads one state, by default the newest: nothing acknowledged before the call is missing. @throws {EtcdError} */
  range(query: RangeQuery, options?: CallOptions): Promise<RangeAnswer>
  /** @throws {EtcdError} with `isUndone` false if it may have been done. */
  transact(transaction: Transaction, options?: CallOptions): Promise<TransactionAnswer>
  /** @returns The id of a lease that ends after this time. @throws {EtcdError} */
  grantLease(ttlSeconds: number, options?: CallOptions): Promise<string>
  /**
   * Tells the changes of all keys from `key` up to but without `end`, from a revision on. It never ends by itself.
   *
   * @throws {EtcdError} when the member ends it, or cannot be reached any more.
   */
  watch(watched: Watched): AsyncIterable<WatchMessage>
  close(): void
}

export interface CallOptions {
  readonly signal?: AbortSignal
  /** For one attempt: until its answer begins, and between its pieces. */
  readonly attemptMs?: number
  /**
   * How many members are tried. By default a read tries each; a change one, and the next ones while it is certain that it was
   * not done.
   */
  readonly attempts?: number
}

export interface Watched {
  readonly key: string
  readonly end: string
  readonly fromRevision: number
  /** Whether each event has what was before it. */
  readonly withPrevious?: boolean
  readonly signal: AbortSignal
}

export interface GatewayOptions {
  /** URLs; at least one. */
  readonly endpoints: readonly string[]
  readonly tls?: EtcdTls
  readonly login?: EtcdLogin | undefined
}

/** @throws {UsageError} if certificates or key are not what they should be. */
export function openGateway({ endpoints, tls = {}, login }: GatewayOptions): Gateway {
  const clients = endpoints.map((endpoint) => new HttpClient(endpoint, tls))
  const session = new EtcdSession(login)
  let place = 0
  let isClosed = false

  return {
    get endpoint() {
      return current().endpoint
    },
    useNext,
    range: (query, options) =>
      call('/v3/kv/range', rangeBody(query), readRangeAnswer, { attempts: clients.length, ...options }),
    transact: (transaction, options) =>
      call('/v3/kv/txn', transactionBody(transaction), readTransactionAnswer, options),
    grantLease: (ttlSeconds, options) => call('/v3/lease/grant', leaseBody(ttlSeconds), readLeaseId, options),
    watch,
    close() {
      isClosed = true
      for (const client of clients) client.close()
    },
  }

  function current(): HttpClient {
    const client = clients[place]
    if (client === undefined) throw new Error('there is no endpoint')
    return client
  }

  function useNext() {
    place = (place + 1) % clients.length
  }

  async function call<Answer>(
    path: string,
    body: string,
    read: (input: Record<string, unknown>) => Answer,
    { signal, attemptMs = ETCD_ATTEMPT_MS, attempts }: CallOptions = {},
  ): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      if (isClosed) throw new Error('the gateway is closed')
      const client = current()
      const post = (token: string) => client.post({ path, body, token, signal, timeoutMs: attemptMs })
      try {
        return read(await session.use(client, post))
      } catch (error) {
        if (error instanceof SyntaxError) throw client.unexpected(error)
        if (!(error instanceof EtcdError) || !isMembers(error)) throw error
        if (current() === client) useNext()
        // What was certainly not done does no harm elsewhere.
        if (attempt >= (attempts ?? (error.isUndone ? clients.length : 1))) throw error
      }
    }
  }

  async function* watch({ key, end, fromRevision, withPrevious = false, signal }: Watched) {
    if (isClosed) throw new Error('the gateway is closed')
    const client = current()
    const body = watchBody(key, end, fromRevision, withPrevious)
    const follow = async (token: string) => {
      const options = { path: '/v3/watch', body, token, signal, timeoutMs: ETCD_ATTEMPT_MS }
      const messages = readWatch(client, options)
      // A refusal comes instead of the first message.
      return { first: await messages.next(), messages }
    }
    const { first, messages } = await session.use(client, follow)
    try {
      if (first.value !== undefined) yield first.value
      yield* messages
    } finally {
      await messages.return(undefined)
    }
  }
}

/** @throws {EtcdError} when it ends. */
async function* readWatch(client: HttpClient, options: PostOptions): AsyncGenerator<WatchMessage, undefined> {
  const events: WatchEvent[] = []
  try {
    for await (const line of client.stream(options)) {
      const frame = readWatchFrame(parseAnswer(line))
      if (frame.kind === 'refused') throw client.refusal(frame.refusal)
      if (frame.kind === 'fragment' || frame.kind === 'events')
        for (const event of frame.events) events.push(event)
      if (frame.kind === 'events') yield { ...frame, events: events.splice(0) }
      else if (frame.kind !== 'fragment') yield frame
    }
  } catch (error) {
    throw error instanceof SyntaxError ? client.unexpected(error) : error
  }
  throw client.refusal({ message: 'the watch has ended', code: UNAVAILABLE })
}

/** Whether another member, or the same one later, may answer. */
export function isPassing({ reason }: EtcdError): boolean {
  return reason === 'unreachable' || reason === 'timed_out' || reason === 'unavailable'
}

/** Whether it is about this member, so that another one may answer. */
function isMembers(error: EtcdError): boolean {
  return isPassing(error) || error.reason === 'tls'
}

// https://grpc.io/docs/guides/status-codes/
const UNAVAILABLE = 14
