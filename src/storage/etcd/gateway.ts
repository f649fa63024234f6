import { isObject } from '../../json.ts'
import { ETCD_ATTEMPT_MS } from '../../limits.ts'
import { readLeaseId, readRangeAnswer, readToken, readTransactionAnswer, readWatchFrame } from './answers.ts'
import { EtcdError } from './etcd-error.ts'
import { type EtcdTls, HttpClient } from './http-client.ts'
import type {
  RangeAnswer,
  RangeQuery,
  Transaction,
  TransactionAnswer,
  WatchEvent,
  WatchMessage,
} from './messages.ts'
import { authenticateBody, leaseBody, rangeBody, transactionBody, watchBody } from './requests.ts'

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
  /** For one attempt. */
  readonly attemptMs?: number
  /** How many members are tried. By default a read tries each, a change one. */
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
  readonly login?: { readonly user: string; readonly password: string } | undefined
}

export function openGateway({ endpoints, tls = {}, login }: GatewayOptions): Gateway {
  const clients = endpoints.map((endpoint) => new HttpClient(endpoint, tls))
  let place = 0
  let token: string | undefined
  let loggingIn: Promise<void> | undefined

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
    { signal, attemptMs = ETCD_ATTEMPT_MS, attempts = 1 }: CallOptions = {},
  ): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const client = current()
      try {
        const answer = await authenticated(client, signal, () =>
          client.post({ path, body, token, signal, timeoutMs: attemptMs }),
        )
        if (!isObject(answer)) throw client.refusal('an answer that is no object', 0)
        return read(answer)
      } catch (error) {
        if (!(error instanceof EtcdError) || !isPassing(error)) throw error
        if (current() === client) useNext()
        if (attempt >= attempts) throw error
      }
    }
  }

  /** Logs in first if need be, and anew when the token is not good any more. */
  async function authenticated<Answer>(
    client: HttpClient,
    signal: AbortSignal | undefined,
    post: () => Promise<Answer>,
  ): Promise<Answer> {
    if (login !== undefined && token === undefined) await logIn(client)
    const used = token
    try {
      return await post()
    } catch (error) {
      if (!(error instanceof EtcdError) || error.reason !== 'login_failed') throw error
      if (login === undefined) throw withoutLogin(error)
      signal?.throwIfAborted()
      if (token === used) token = undefined
      if (token === undefined) await logIn(client)
      return post()
    }
  }

  function logIn(client: HttpClient): Promise<void> {
    loggingIn ??= authenticate(client).finally(() => {
      loggingIn = undefined
    })
    return loggingIn
  }

  async function authenticate(client: HttpClient) {
    const { user = '', password = '' } = login ?? {}
    const body = authenticateBody(user, password)
    const path = '/v3/auth/authenticate'
    try {
      const answer = await client.post({
        path,
        body,
        token: undefined,
        signal: undefined,
        timeoutMs: ETCD_ATTEMPT_MS,
      })
      token = readToken(isObject(answer) ? answer : {})
    } catch (error) {
      if (!(error instanceof EtcdError) || !error.words.includes('authentication is not enabled')) throw error
      // It may be enabled later; then a call without a good token leads here again.
      token = ''
    }
  }

  /** etcd takes no user from a certificate here; without one it says that the name is empty. */
  function withoutLogin({ endpoint, words, cause }: EtcdError): EtcdError {
    const reason = tls.certificate === undefined ? 'login_failed' : 'common_name'
    return new EtcdError(endpoint, reason, words, { isUndone: true, cause })
  }

  async function* watch({ key, end, fromRevision, withPrevious = false, signal }: Watched) {
    const client = current()
    const body = watchBody(key, end, fromRevision, withPrevious)
    if (login !== undefined && token === undefined) await logIn(client)
    let events: readonly WatchEvent[] = []
    const options = { path: '/v3/watch', body, token, signal, timeoutMs: ETCD_ATTEMPT_MS }
    for await (const line of client.stream(options)) {
      const frame = readWatchFrame(objectIn(line))
      if (frame.kind === 'fragment') events = [...events, ...frame.events]
      else if (frame.kind === 'events') {
        yield { ...frame, events: [...events, ...frame.events] }
        events = []
      } else if (frame.kind === 'canceled' || frame.kind === 'error') {
        const [words, code] =
          frame.kind === 'error'
            ? [frame.message, frame.code]
            : [`the watch was canceled: ${frame.reason}`, UNAVAILABLE]
        const error = client.refusal(words, code)
        if (error.reason === 'login_failed') token = undefined
        throw error
      } else yield frame
    }
    throw client.refusal('the watch has ended', UNAVAILABLE)
  }
}

/** Whether another member, or the same one later, may answer. */
export function isPassing({ reason }: EtcdError): boolean {
  return reason === 'unreachable' || reason === 'timed_out' || reason === 'unavailable'
}

function objectIn(line: string): Record<string, unknown> {
  const parsed: unknown = JSON.parse(line)
  return isObject(parsed) ? parsed : {}
}

// https://grpc.io/docs/guides/status-codes/
const UNAVAILABLE = 14
