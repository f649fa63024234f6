import { ETCD_ATTEMPT_MS, ETCD_LOGIN_PAUSE_MS } from '../limits.ts'
import { readToken } from './answers.ts'
import { EtcdError } from './etcd-error.ts'
import type { HttpClient } from './http-client.ts'
import { authenticateBody } from './requests.ts'

export interface EtcdLogin {
  readonly user: string
  readonly password: string
}

/** A session at etcd: logs in when it has to, once for all calls that wait for it. Without a login it has no token. */
export class EtcdSession {
  readonly #login: EtcdLogin | undefined
  /** Empty while etcd says that authentication is not enabled. */
  #token: string | undefined
  #triedMs = Number.NEGATIVE_INFINITY
  #failure: EtcdError | undefined
  #loggingIn: Promise<string> | undefined

  constructor(login: EtcdLogin | undefined) {
    this.#login = login
    if (login === undefined) this.#token = ''
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
    const { user, password } = this.#login ?? { user: '', password: '' }
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
      const undone = new EtcdError(endpoint, reason, words, { isUndone: true, cause: failure })
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
