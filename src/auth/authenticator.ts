import { randomBytes } from 'node:crypto'
import type { AuditTrail } from '../audit/audit-trail.ts'
import { InvalidScopeError, OverloadedError } from '../errors.ts'
import { formatCookie, readCookie } from '../http/cookie.ts'
import type { Caller, Principal, Request } from '../http/message.ts'
import { narrower, type Scope } from '../http/scope.ts'
import { trimBlanks } from '../http/white-space.ts'
import type { Log } from '../log.ts'
import { type Account, type AccountKind, scopeOf } from './accounts.ts'
import { createAttemptLog } from './attempt-log.ts'
import type { LiveAccounts } from './live-accounts.ts'
import type { LiveKeys } from './live-keys.ts'
import { createLoginCounters, type LoginCounters } from './login-metrics.ts'
import { dummyHash, verifyPassword } from './password.ts'
import type { Revocations } from './revocations.ts'
import { digestSecret, isSameText } from './secret.ts'
import { type Claims, signToken } from './signed-token.ts'
import { type Attempt, createThrottle } from './throttle.ts'
import { createTokenVerifier, ISSUER } from './token-verifier.ts'

/** What a token must have been issued for, to be carried so. */
const AUDIENCES = { bearer: 'api', cookie: 'session' } as const

/** What the log and the audit trail call the outcomes of checking a secret. */
const checkEvents = {
  user: {
    ok: 'logged_in',
    failed: 'login_failed',
    throttled: 'login_throttled',
    not_checked: 'login_not_checked',
  },
  client: {
    ok: 'token_issued',
    failed: 'token_refused',
    throttled: 'token_throttled',
    not_checked: 'token_not_checked',
  },
} as const

/** A valid credential and what carried it. */
export interface Credential {
  readonly principal: Principal
  readonly carrier: 'bearer' | 'cookie'
}

/** An answer to a token request (RFC 6749 section 5.1). */
export interface IssuedToken {
  readonly access_token: string
  readonly token_type: 'Bearer'
  /** Seconds. */
  readonly expires_in: number
  readonly scope: Scope
}

/** What a client shows to get a token. */
export interface ClientCredentials {
  readonly id: string
  readonly secret: string
}

export interface Authenticator {
  /**
   * Who calls. An `Authorization` header alone decides where there is one, else the session cookie.
   *
   * @returns undefined when neither holds a valid credential.
   */
  authenticate(request: Request): Credential | undefined
  /** To be waited for before a credential is refused: that it has expired must outlive the process. Never rejects. */
  readonly remembering: Promise<void> | undefined
  /** How attempts to get in went. */
  readonly logins: Readonly<Record<AccountKind, LoginCounters>>
  /** Tells how many attempts were not listed, which it otherwise does some time later. */
  close(): Promise<void>
  /**
   * Checks a user's password and starts a session.
   *
   * @returns The `Set-Cookie` value of the session; undefined when user or password is wrong, which take as long.
   * @throws {TooManyAttemptsError} {OverloadedError}
   */
  logIn(caller: Caller, username: string, password: string): Promise<string | undefined>
  /**
   * Ends the credential of an authenticated request; resolves once that is on disk.
   *
   * @returns The `Set-Cookie` value that clears the cookie, when a cookie carried the credential.
   */
  logOut(request: Request): Promise<string | undefined>
  /**
   * Checks a client's secret and issues a token.
   *
   * @param spellings What the client may have meant, the likeliest first; the first id that a client has counts.
   * @param wanted Less than the client may do, or the same, which is what it gets when this is not given.
   * @returns undefined when client or secret is wrong.
   * @throws {InvalidScopeError} if the secret is right and `wanted` goes beyond what the client may do.
   * @throws {TooManyAttemptsError} {OverloadedError}
   */
  issueToken(
    caller: Caller,
    spellings: readonly ClientCredentials[],
    wanted?: Scope,
  ): Promise<IssuedToken | undefined>
}

export interface AuthenticatorOptions {
  readonly accounts: LiveAccounts
  readonly keys: Pick<LiveKeys, 'signing' | 'verifying'>
  readonly revocations: Revocations
  readonly sessionTtlSeconds: number
  readonly tokenTtlSeconds: number
  /** The cookie's `Path`. */
  readonly path: string
  readonly audit: AuditTrail
  readonly log: Log
}

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { accounts, keys, revocations, sessionTtlSeconds, tokenTtlSeconds, path, audit, log } = options
  const { clock } = revocations
  const attempts = createAttemptLog(clock, log, audit)
  // One for each kind: a flood of client ids, which are quick to check, must not push users out.
  const throttles = { user: createThrottle(clock), client: createThrottle(clock) }
  const logins = createLoginCounters()
  const tokens = createTokenVerifier(accounts, keys, revocations)

  return {
    authenticate(request) {
      const found = findToken(request)
      const claims = found && tokens.verify(found.token, AUDIENCES[found.carrier])
      if (found === undefined || claims === undefined) return undefined
      return { carrier: found.carrier, principal: claims.principal }
    },

    get remembering() {
      return revocations.remembering
    },

    logins,

    close: attempts.close,

    async logIn(caller, username, password) {
      const account = await check(caller, 'user', username, async (found) => {
        const isRight = await verifyPassword(password, found?.secret ?? dummyHash)
        return isRight && found !== undefined
      })
      if (account === undefined) return undefined
      const token = sign(account, 'session', sessionTtlSeconds, scopeOf(account))
      return sessionCookie(caller, token, sessionTtlSeconds)
    },

    async logOut(request) {
      const found = findToken(request)
      const claims = found && tokens.verify(found.token, AUDIENCES[found.carrier])
      if (found === undefined || claims === undefined) return undefined
      await revocations.add(claims.jti, claims.exp)
      await attempts.succeeded('logged_out', request, { kind: claims.principal.kind, account: claims.sub })
      if (found.carrier === 'bearer') return undefined
      return sessionCookie(request, '', 0)
    },

    async issueToken(caller, spellings, wanted) {
      const known = spellings.find(({ id }) => accounts.find('client', id) !== undefined)
      const { id } = known ?? spellings[0] ?? { id: '' }
      const account = await check(caller, 'client', id, async (found) => {
        for (const spelling of spellings) {
          if (spelling.id !== id || !(await isClientSecret(found, spelling.secret))) continue
          if (found !== undefined) await checkScope(found, wanted, caller)
          return true
        }
        return false
      })
      if (account === undefined) return undefined
      const scope = wanted ?? scopeOf(account)
      const token = sign(account, 'api', tokenTtlSeconds, scope)
      return { access_token: token, token_type: 'Bearer', expires_in: tokenTtlSeconds, scope }
    },
  }

  function findToken(request: Request): { token: string; carrier: Credential['carrier'] } | undefined {
    const { authorization, cookie } = request.headers
    if (authorization !== undefined) {
      const token = readBearer(authorization)
      return token === undefined ? undefined : { token, carrier: 'bearer' }
    }
    const token = readCookie(cookie, nameCookie(path, request.isSecure))
    return token === undefined ? undefined : { token, carrier: 'cookie' }
  }

  function sessionCookie({ isSecure }: Caller, token: string, maxAgeSeconds: number): string {
    return formatCookie(nameCookie(path, isSecure), token, { path, isSecure, maxAgeSeconds })
  }

  function sign(account: Account, aud: Claims['aud'], ttlSeconds: number, scope: Scope): string {
    const iat = Math.floor(clock.now() / 1000)
    const jti = randomBytes(12).toString('base64url')
    const claims = {
      iss: ISSUER,
      sub: account.name,
      aud,
      iat,
      exp: iat + ttlSeconds,
      jti,
      gen: account.generation,
      scope,
    }
    return signToken(claims, keys.signing)
  }

  /** Runs the check of a secret between the two halves of the throttle. */
  async function check(
    caller: Caller,
    kind: AccountKind,
    name: string,
    isRight: (account: Account | undefined) => Promise<boolean>,
  ): Promise<Account | undefined> {
    const account = accounts.find(kind, name)
    // An unknown name is not logged: people type passwords into the wrong field.
    const fields = { account: account?.name }
    const tell = (outcome: keyof LoginCounters) => {
      logins[kind][outcome].increment()
      const tellAttempt = outcome === 'ok' ? attempts.succeeded : attempts.failed
      return tellAttempt(checkEvents[kind][outcome], caller, fields)
    }
    let attempt: Attempt
    try {
      attempt = throttles[kind].begin(caller.address, name)
    } catch (error) {
      await tell('throttled')
      throw error
    }
    try {
      if (!(await isRight(account))) {
        attempt.fail()
        await tell('failed')
        return undefined
      }
    } catch (error) {
      attempt.cancel()
      if (error instanceof OverloadedError) await tell('not_checked')
      throw error
    }
    attempt.succeed()
    await tell('ok')
    return account
  }

  /** @throws {InvalidScopeError} before the log says that a token was issued. */
  async function checkScope(client: Account, wanted: Scope | undefined, caller: Caller) {
    if (wanted === undefined || narrower(wanted, scopeOf(client)) === wanted) return
    await attempts.failed('token_scope_refused', caller, { account: client.name, scope: wanted })
    throw new InvalidScopeError(`This client may only ${scopeOf(client)}; ask for that, or leave scope out`)
  }

  /** When some clients' secrets take long to check, a wrong one takes long for every client, known or not. */
  async function isClientSecret(client: Account | undefined, secret: string): Promise<boolean> {
    if (client !== undefined && !client.secret.startsWith('sha256:'))
      return verifyPassword(secret, client.secret)
    const isRight = isSameText(digestSecret(secret), client?.secret ?? '')
    if (!isRight && accounts.hasChosenClientSecret) await verifyPassword(secret, dummyHash)
    return isRight
  }
}

/** The token of a `Bearer` header (RFC 6750 section 2.1), scheme in any case; undefined for another scheme. */
export function readBearer(authorization: string): string | undefined {
  // Nearly always it is spelled so.
  if (!authorization.startsWith('Bearer ') && !/^bearer /i.test(authorization)) return undefined
  const token = trimBlanks(authorization.slice(7))
  return token === '' ? undefined : token
}

/**
 * `__Host-` and `__Secure-` bind a cookie to TLS (RFC 6265bis section 4.1.3); `__Host-` also to the path `/`, so it
 * cannot go with a base path.
 */
function nameCookie(path: string, isSecure: boolean): string {
  const name = 'connbook_session'
  if (!isSecure) return name
  return path === '/' ? `__Host-${name}` : `__Secure-${name}`
}
