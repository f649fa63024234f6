import { EtcdError } from './etcd-error.ts'
import { type EtcdTls, HttpClient, type PostOptions } from './http-client.ts'
import {
  authenticateBody,
  leaseBody,
  parseAnswer,
  type RangeAnswer,
  type RangeQuery,
  rangeBody,
  readLeaseId,
  readRangeAnswer,
  readToken,
  readTransactionAnswer,
  readWatchFrame,
  type Transaction,
  type TransactionAnswer,
  transactionBody,
  type WatchEvent,
  type WatchMessage,
  watchBody,
} from './messages.ts'

/** For one attempt of a call to etcd; then the next member is asked. */
export const ETCD_ATTEMPT_MS = 1_000
/** Between logins at etcd that did not help: each costs etcd a slow hash. */
const ETCD_LOGIN_PAUSE_MS = 1_000
/** Between looks at whether a pass that etcd refuses was renewed. */
const PASS_RENEWAL_PAUSE_MS = 500

/** The JSON gateway of an etcd cluster: calls go to one member, and to the next one when it does not answer. */
export interface Gateway {
  /** The member in use. */
  readonly endpoint: string
  /** Changes to the next member. */
  useNext(): void
  /** Reads one state, by default the newest: nothing acknowledged before the call is missing. @throws {EtcdError} */
  range(query: RangeQuery, options?: EtcdCallOptions): Promise<RangeAnswer>
  /** @throws {EtcdError} with `isUndone` false if it may have been done. */
  transact(transaction: Transaction, options?: EtcdCallOptions): Promise<TransactionAnswer>
  /** @returns The id of a lease that ends after this time. @throws {EtcdError} */
  grantLease(ttlSeconds: number, options?: EtcdCallOptions): Promise<string>
  /**
   * Tells the changes of all keys from `key` up to but without `end`, from a revision on. It never ends by itself.
   *
   * @throws {EtcdError} when the member ends it, or cannot be reached any more.
   */
  watch(watched: Watched): AsyncIterable<WatchMessage>
  close(): void
}

export interface EtcdCallOptions {
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

/** What etcd and a node know each other by. */
export interface EtcdPass {
  readonly tls: EtcdTls
  readonly login: EtcdLogin | undefined
}

/** Where a pass comes from. */
export interface PassSource {
  /** The same object until there is another one. */
  readonly pass: EtcdPass
  /** Called after a refusal; from then on `pass` is the newest. */
  renew(): void
}

export interface GatewayOptions {
  /** URLs; at least one. */
  readonly endpoints: readonly string[]
  /** Nothing is needed to be let in, by default. */
  readonly source?: PassSource
}

const NO_PASS: PassSource = { pass: { tls: {}, login: undefined }, renew() {} }

/** @throws {UsageError} if certificates or key are not what they should be. */
export function openGateway({ endpoints, source = NO_PASS }: GatewayOptions): Gateway {
  let { pass } = source
  const clients = endpoints.map((endpoint) => new HttpClient(endpoint, pass.tls))
  const session = new EtcdSession(pass.login)
  let renewedMs = Number.NEGATIVE_INFINITY
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

  /** Takes another pass, if there is one. */
  function usePass(): EtcdPass {
    const { pass: next } = source
    if (next === pass) return pass
    if (next.tls !== pass.tls) for (const client of clients) client.useTls(next.tls)
    session.useLogin(next.login)
    pass = next
    return pass
  }

  /** Makes a call, and once more if etcd refused a pass that has been renewed. @throws {EtcdError} */
  async function letIn<Result>(
    client: HttpClient,
    send: (token: string) => Promise<Result>,
  ): Promise<Result> {
    const used = usePass()
    try {
      return await session.use(client, send)
    } catch (error) {
      if (!(error instanceof EtcdError) || !error.isUndone || !isOfPass(error)) throw error
      if (source.pass === used && performance.now() >= renewedMs + PASS_RENEWAL_PAUSE_MS) {
        renewedMs = performance.now()
        source.renew()
      }
      if (usePass() === used) throw error
    }
    return session.use(client, send)
  }

  async function call<Answer>(
    path: string,
    body: string,
    read: (input: Record<string, unknown>) => Answer,
    { signal, attemptMs = ETCD_ATTEMPT_MS, attempts }: EtcdCallOptions = {},
  ): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      if (isClosed) throw new Error('the gateway is closed')
      const client = current()
      const post = (token: string) => client.post({ path, body, token, signal, timeoutMs: attemptMs })
      try {
        return read(await letIn(client, post))
      } catch (error) {
        if (error instanceof SyntaxError) throw client.unexpected(error)
        if (!(error instanceof EtcdError) || !isMembers(error)) throw error
        if (current() === client) useNext()
        // What was certainly not done does no harm elsewhere.
        if (attempt >= (attempts ?? (error.isUndone ? clients.length : 1))) throw error
      }
    }
  }

  async function* watch(watched: Watched) {
    if (isClosed) throw new Error('the gateway is closed')
    const client = current()
    const { first, messages } = await letIn(client, (token) => beginWatch(client, token, watched))
    try {
      if (first.value !== undefined) yield first.value
      yield* messages
    } finally {
      await messages.return(undefined)
    }
  }
}

/** Resolves at the first message: a refusal comes instead of that. */
async function beginWatch(
  client: HttpClient,
  token: string,
  { key, end, fromRevision, withPrevious = false, signal }: Watched,
) {
  const body = watchBody(key, end, fromRevision, withPrevious)
  const options = { path: '/v3/watch', body, token, signal, timeoutMs: ETCD_ATTEMPT_MS }
  const messages = readWatch(client, options)
  return { first: await messages.next(), messages }
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

/** Whether another password or certificate may help. */
function isOfPass({ reason }: EtcdError): boolean {
  return reason === 'tls' || reason === 'login_failed'
}

/** Whether it is about this member, so that another one may answer. */
function isMembers(error: EtcdError): boolean {
  return isPassing(error) || error.reason === 'tls'
}

// https://grpc.io/docs/guides/status-codes/
const UNAVAILABLE = 14

export interface EtcdLogin {
  readonly user: string
  readonly password: string
  /** Path of the file that has the password, for messages. */
  readonly file?: string
}

/** A session at etcd: logs in when it has to, once for all calls that wait for it. Without a login it has no token. */
class EtcdSession {
  #login: EtcdLogin | undefined
  /** Empty while etcd says that authentication is not enabled. */
  #token: string | undefined
  #triedMs = Number.NEGATIVE_INFINITY
  #failure: EtcdError | undefined
  #loggingIn: Promise<string> | undefined

  constructor(login: EtcdLogin | undefined) {
    this.#login = login
    if (login === undefined) this.#token = ''
  }

  /** It counts from the next login on. */
  useLogin(login: EtcdLogin | undefined): void {
    this.#login = login
    this.#failure = undefined
  }

  /** Makes a call with a token, and once more with a new one if the first was not good any more. @throws {EtcdError} */
  async use<Result>(client: HttpClient, call: (token: string) => Promise<Result>): Promise<Result> {
    const token = this.#token ?? (await this.#logIn(client))
    try {
      return await call(token)
    } catch (error) {
      if (!(error instanceof EtcdError) || !isForLackOfLogin(error)) throw error
      if (this.#login === undefined)
        throw new EtcdError(client.endpoint, 'login_failed', error.words, { isUndone: true, cause: error })
      // A token that is young is good: then it is the user who may not.
      const isYoung = token === this.#token && this.#wasTriedJustNow()
      if (error.reason === 'denied' && token !== '' && isYoung) throw error
    }
    // Another call may have logged in meanwhile.
    if (this.#token === token) this.#token = undefined
    return call(this.#token ?? (await this.#logIn(client)))
  }

  #wasTriedJustNow(): boolean {
    return performance.now() < this.#triedMs + ETCD_LOGIN_PAUSE_MS
  }

  #logIn(client: HttpClient): Promise<string> {
    this.#loggingIn ??= this.#authenticate(client).finally(() => {
      this.#loggingIn = undefined
    })
    return this.#loggingIn
  }

  async #authenticate(client: HttpClient): Promise<string> {
    if (this.#failure !== undefined && this.#wasTriedJustNow()) throw this.#failure
    const { user, password, file }: EtcdLogin = this.#login ?? { user: '', password: '' }
    const body = authenticateBody(user, password)
    const timeoutMs = ETCD_ATTEMPT_MS
    this.#failure = undefined
    try {
      const path = '/v3/auth/authenticate'
      this.#token = readToken(
        await client.post({ path, body, token: undefined, signal: undefined, timeoutMs }),
      )
      this.#triedMs = performance.now()
    } catch (error) {
      const failure = error instanceof SyntaxError ? client.unexpected(error) : error
      if (!(failure instanceof EtcdError)) throw failure
      const { endpoint, reason, words } = failure
      // It may be enabled later; then a call without a token leads here again.
      if (words.includes('authentication is not enabled')) {
        this.#token = ''
        return ''
      }
      // What the login is for has not been sent.
      const remedy =
        reason === 'login_failed' && file !== undefined
          ? `give the right --etcd-user, or write its password into "${file}", which is read again`
          : failure.remedy
      const undone = new EtcdError(endpoint, reason, words, { isUndone: true, cause: failure, remedy })
      if (reason === 'login_failed') {
        this.#failure = undone
        this.#triedMs = performance.now()
      }
      throw undone
    }
    return this.#token
  }
}

/** etcd also says that permission is denied if there is no token, and, when a watch begins, if the token has expired. */
function isForLackOfLogin({ reason }: EtcdError): boolean {
  return reason === 'login_failed' || reason === 'denied'
}
