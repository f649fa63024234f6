import type { AuditTrail } from '../audit/audit-trail.ts'
import { type Fault, InvalidInputError, InvalidScopeError } from '../errors.ts'
import { ownerHeaders, trimBlanks } from '../http/header-fields.ts'
import type { Caller, CommandPrincipal, Principal, Request, VerifiedCredential } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { ADMIN_SCOPE, narrower, type Scope, WRITE_SCOPE } from '../http/scope.ts'
import { decodePercent } from '../http/url.ts'
import { ACCOUNT_NAME_CHARACTERS_MAX } from '../limits.ts'
import type { Log } from '../log.ts'
import { senderOf } from '../store/authorship.ts'
import { sudoUserOf, systemAccount } from '../system-account.ts'
import { checkText } from '../text.ts'
import { type Account, type AccountKind, scopeOf } from './accounts.ts'
import { AttemptLog } from './attempt-log.ts'
import type { Clock } from './clock.ts'
import { CredentialEnding } from './credential-ending.ts'
import { createJti, type Revocations } from './ended-credentials.ts'
import type { LiveAccounts } from './live-accounts.ts'
import type { LiveKeys } from './live-keys.ts'
import { hashPassword } from './password.ts'
import { type ClientCredentials, type LoginCounters, queuePath, SecretChecks } from './secret-checks.ts'
import { SessionCookie } from './session-cookie.ts'
import { type Claims, signToken } from './signed-token.ts'
import { ISSUER, TokenVerifier, type VerifiedClaims } from './token-verifier.ts'
import { WindowCounts } from './window-counts.ts'

/** The words of a command in the audit trail. */
const COMMAND_CHARACTERS_MAX = 64
/** Changes of the password that a user may make in each PASSWORD_CHANGES_WINDOW_MS. */
export const PASSWORD_CHANGES_MAX = 10
export const PASSWORD_CHANGES_WINDOW_MS = 10 * 60_000

/** Stands for the command of a caller that names none, such as curl. */
const NO_COMMAND = 'http'

/** The `aud` that each carrier requires. */
const AUDIENCES = { bearer: 'api', cookie: 'session' } as const

/** The answer to a token request (RFC 6749 section 5.1). */
export interface IssuedToken {
  readonly access_token: string
  readonly token_type: 'Bearer'
  /** Seconds. */
  readonly expires_in: number
  readonly scope: Scope
}

export interface AuthenticatorOptions {
  readonly accounts: Pick<
    LiveAccounts,
    'find' | 'hasChosenClientSecret' | 'onChange' | 'endCredentials' | 'changePassword'
  >
  readonly keys: Pick<LiveKeys, 'signing' | 'verifying'>
  readonly revocations: Revocations
  readonly sessionTtlSeconds: number
  readonly tokenTtlSeconds: number
  /** The cookie's `Path`. */
  readonly path: string
  /** Id of the store, which names the cookie. */
  readonly store: string
  readonly audit: AuditTrail
  readonly log: Log
}

/** Says who is calling; starts and ends sessions and tokens. */
export class Authenticator {
  readonly #options: AuthenticatorOptions
  readonly #attempts: AttemptLog
  readonly #secrets: SecretChecks
  readonly #tokens: TokenVerifier
  readonly #ending: CredentialEnding
  readonly #passwordChanges: PasswordChanges
  readonly #sessionCookie: SessionCookie
  /** Made once, as `principalNow` allocates nothing. */
  readonly #verifySession = (token: string) => this.#tokens.verify(token, AUDIENCES.cookie)

  constructor(options: AuthenticatorOptions) {
    const { accounts, keys, revocations, path, store, audit, log } = options
    this.#options = options
    this.#attempts = new AttemptLog(revocations.clock, log, audit)
    this.#secrets = new SecretChecks(accounts, this.#attempts, revocations.clock)
    this.#tokens = new TokenVerifier(accounts, keys, revocations)
    this.#ending = new CredentialEnding(accounts, revocations, audit, log)
    this.#passwordChanges = new PasswordChanges(revocations.clock)
    this.#sessionCookie = new SessionCookie(path, store)
  }

  /**
   * Authenticates by the `Authorization` header. Without one, on the owner's socket everybody is its owner; elsewhere the
   * session cookie counts.
   *
   * @returns undefined without a valid credential.
   * @throws {InvalidInputError} as `readOwner` does.
   */
  authenticate(request: Request): VerifiedCredential | undefined {
    if (isOwnerWithoutToken(request)) return { carrier: 'socket', principal: readOwner(request) }
    const claims = this.#findClaims(request)
    if (claims === undefined) return undefined
    return { carrier: carrierOf(request), principal: claims.principal, expiresAt: claims.exp }
  }

  /**
   * Who makes an authenticated request, as the account is now; undefined without a valid credential. Allocates nothing: V8
   * would put objects made here for long-lived streams into the old generation at once, and repeated checks would fill it.
   */
  principalNow(request: Request): Principal | undefined {
    return isOwnerWithoutToken(request) ? request.principal : this.#findClaims(request)?.principal
  }

  /** Await it before refusing a credential: its expiry must survive a crash. Never rejects. */
  get remembering(): Promise<void> | undefined {
    return this.#options.revocations.remembering
  }

  get logins(): Readonly<Record<AccountKind, LoginCounters>> {
    return this.#secrets.logins
  }

  /** Records the outstanding count of attempts that were not listed. */
  close(): Promise<void> {
    return this.#attempts.close()
  }

  /**
   * Checks a user's password and starts a session.
   *
   * @returns The `Set-Cookie` value of the session; undefined, after the same time, if user or password is wrong.
   * @throws {TooManyAttemptsError} {OverloadedError}
   */
  async logIn(caller: Caller, username: string, password: string): Promise<string | undefined> {
    const account = await this.#secrets.checkUser(caller, username, password)
    if (account === undefined) return undefined
    await this.#attempts.succeeded('logged_in', caller, { kind: 'user', name: username })
    return this.#startSession(account, caller)
  }

  /**
   * Ends the credential of an authenticated request; resolves once that is on disk. Ends all of the account if it has
   * ended too many.
   *
   * @returns The `Set-Cookie` values that clear the session cookie; none for a bearer token.
   * @throws as `CredentialEnding.end` does.
   */
  async logOut(request: Request): Promise<readonly string[]> {
    const claims = this.#findClaims(request)
    if (claims === undefined) return []
    await this.#ending.end(claims, request)
    await this.#attempts.succeeded('logged_out', request, claims.principal)
    const { headers, isSecure } = request
    return carrierOf(request) === 'bearer' ? [] : this.#sessionCookie.clear(headers.cookie, isSecure)
  }

  /**
   * Checks a client's secret and issues a token.
   *
   * @param spellings Readings of what was sent, the likeliest first; the first id that exists counts.
   * @param wanted The client's scope or a narrower one; if not given, the client's, but without `admin`.
   * @returns undefined if client or secret is wrong.
   * @throws {InvalidScopeError} if the secret is right and `wanted` exceeds the client's scope.
   * @throws {TooManyAttemptsError} {OverloadedError}
   */
  async issueToken(
    caller: Caller,
    spellings: readonly ClientCredentials[],
    wanted?: Scope,
  ): Promise<IssuedToken | undefined> {
    const account = await this.#secrets.checkClient(caller, spellings, (found) =>
      this.#checkScope(found, wanted, caller),
    )
    if (account === undefined) return undefined
    await this.#attempts.succeeded('token_issued', caller, { kind: 'client', name: account.name })
    const scope = wanted ?? narrower(scopeOf(account), WRITE_SCOPE)
    const { tokenTtlSeconds } = this.#options
    const token = this.#sign(account, 'api', tokenTtlSeconds, scope)
    return { access_token: token, token_type: 'Bearer', expires_in: tokenTtlSeconds, scope }
  }

  /** Throws within the check of the secret, so that no token is recorded as issued. */
  async #checkScope(client: Account, wanted: Scope | undefined, caller: Caller) {
    if (wanted === undefined || narrower(wanted, scopeOf(client)) === wanted) return
    await this.#attempts.failed('token_scope_refused', caller, { account: client.name, scope: wanted })
    throw new InvalidScopeError(`This client may only ${scopeOf(client)}; ask for that, or leave scope out`)
  }

  /**
   * Checks a client's secret and ends a token of this client; resolves once that is on disk. Any other text, and a token
   * that has ended, stays as it is.
   *
   * @param spellings As for `issueToken`.
   * @returns Whether client and secret are right.
   * @throws {TooManyAttemptsError} {OverloadedError} Also what `CredentialEnding.end` throws.
   */
  async revokeToken(
    caller: Caller,
    spellings: readonly ClientCredentials[],
    token: string,
  ): Promise<boolean> {
    const account = await this.#secrets.checkClient(caller, spellings)
    if (account === undefined) return false
    const claims = this.#tokens.verify(token, AUDIENCES.bearer)
    if (claims?.sub === account.name) {
      await this.#ending.end(claims, caller)
      await this.#attempts.succeeded('logged_out', caller, { kind: 'client', name: account.name })
    } else await this.remembering
    return true
  }

  /**
   * Checks the password of the user whose session makes the request, and gives the user another one. Ends all the user's
   * sessions, and starts a new one for this request; resolves once that is on disk.
   *
   * @returns The `Set-Cookie` value of the new session; why not, if nothing has changed.
   * @throws {Problem} as `PasswordChanges.take` does. {TooManyAttemptsError} {OverloadedError}
   * @throws {StorageFullError} {StorageUnavailableError} if the accounts cannot be written.
   */
  async changePassword(
    request: Request,
    password: string,
    newPassword: string,
  ): Promise<{ readonly cookie: string } | 'wrong_password' | 'session_ended'> {
    const { accounts, revocations, audit, log } = this.#options
    const session = this.#findClaims(request)
    if (session === undefined || carrierOf(request) !== 'cookie') return 'session_ended'
    const { sub: name, gen } = session
    if ((await this.#secrets.checkUser(request, name, password)) === undefined)
      return this.#findClaims(request) === undefined ? 'session_ended' : 'wrong_password'
    this.#passwordChanges.take(name)
    const secret = await hashPassword(newPassword, queuePath(request, true), 'thread')
    // Another request may end it meanwhile.
    const isAllowed = () => this.#findClaims(request) !== undefined
    const account = await accounts.changePassword(name, gen, secret, isAllowed)
    if (account === undefined) return 'session_ended'
    revocations.dropGeneration(gen)
    const { address, requestId } = request
    log.info('user_password_changed', { account: name, address, request_id: requestId })
    await audit.record('user_password_changed', senderOf(request), { account: name })
    return { cookie: this.#startSession(account, request) }
  }

  #findClaims(request: Request): VerifiedClaims | undefined {
    const { headers, isSecure } = request
    const { authorization, cookie } = headers
    if (authorization === undefined) return this.#sessionCookie.find(cookie, isSecure, this.#verifySession)
    const token = readBearer(authorization)
    return token === undefined ? undefined : this.#tokens.verify(token, AUDIENCES.bearer)
  }

  /** @returns The `Set-Cookie` value. */
  #startSession(account: Account, { isSecure }: Caller): string {
    const { sessionTtlSeconds } = this.#options
    const token = this.#sign(account, 'session', sessionTtlSeconds, scopeOf(account))
    return this.#sessionCookie.set(token, sessionTtlSeconds, isSecure)
  }

  #sign(account: Account, aud: Claims['aud'], ttlSeconds: number, scope: Scope): string {
    const { keys, revocations } = this.#options
    const { name: sub, generation: gen } = account
    const iat = Math.floor(revocations.clock.now() / 1000)
    const jti = createJti(gen)
    return signToken({ iss: ISSUER, sub, aud, iat, exp: iat + ttlSeconds, jti, gen, scope }, keys.signing)
  }
}

function isOwnerWithoutToken({ isOwner, headers }: Request): boolean {
  return isOwner === true && headers.authorization === undefined
}

function carrierOf({ headers }: Request): keyof typeof AUDIENCES {
  return headers.authorization === undefined ? 'cookie' : 'bearer'
}

/** The token of a `Bearer` header (RFC 6750 section 2.1), scheme in any case; undefined for another scheme. */
export function readBearer(authorization: string): string | undefined {
  // A fast path for the usual spelling.
  if (!authorization.startsWith('Bearer ') && !/^bearer /i.test(authorization)) return undefined
  const token = trimBlanks(authorization.slice(7))
  return token === '' ? undefined : token
}

/**
 * Limits how often each user changes the password: each change writes the accounts file, and a line of the audit trail
 * that must not push out the lines of others.
 */
export class PasswordChanges {
  /** By user. */
  readonly #changes: WindowCounts

  constructor(clock: Pick<Clock, 'elapsed'>) {
    this.#changes = new WindowCounts(clock, PASSWORD_CHANGES_WINDOW_MS)
  }

  /** Counts a change. @throws {Problem} 503 for more than PASSWORD_CHANGES_MAX in a PASSWORD_CHANGES_WINDOW_MS. */
  take(user: string): void {
    if (this.#changes.of(user) >= PASSWORD_CHANGES_MAX) {
      const seconds = String(Math.ceil(this.#changes.leftMs / 1000))
      const message = `Cannot change the password: it was changed too often; try again in ${seconds} s`
      throw new Problem('overloaded', message, { headers: { 'Retry-After': seconds } })
    }
    this.#changes.add(user)
  }
}

/** Who used `sudo`, if it is the name of somebody. */
function claimedBy(sent: string | string[] | undefined): string | undefined {
  return typeof sent === 'string' ? sudoUserOf(decodePercent(sent)) : undefined
}

/**
 * Who calls on the owner's socket, as its headers say. Nobody else can open the socket, so they are believed.
 *
 * @throws {InvalidInputError} if a header is not a name.
 */
export function readOwner({ headers }: Pick<Request, 'headers'>): CommandPrincipal {
  const faults: Fault[] = []
  const read = (field: string, charactersMax: number) => {
    const sent = headers[field]
    if (sent === undefined) return undefined
    const name = typeof sent === 'string' ? decodePercent(sent) : undefined
    const detail =
      name === undefined ? 'must be percent-encoded UTF-8, given once' : checkText(name, charactersMax)
    if (detail !== undefined) faults.push({ field, detail })
    return name
  }
  const account = read(ownerHeaders.account, ACCOUNT_NAME_CHARACTERS_MAX)
  const command = read(ownerHeaders.command, COMMAND_CHARACTERS_MAX)
  const claimed = claimedBy(headers[ownerHeaders.claimed])
  if (faults.length > 0) throw new InvalidInputError('The headers of the owner are not valid', faults)
  return {
    kind: 'command',
    name: account ?? systemAccount(),
    command: command ?? NO_COMMAND,
    ...(claimed === undefined ? {} : { claimed }),
    scope: ADMIN_SCOPE,
  }
}
