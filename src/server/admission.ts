import { type Authenticator, readBearer } from '../auth/authenticator.ts'
import { isCrossSite } from '../http/header-fields.ts'
import type { Principal, Request } from '../http/message.ts'
import { BEARER_CHALLENGE, Problem } from '../http/problem.ts'
import type { Route } from '../http/router.ts'
import { allows, type Scope, type ScopeWord } from '../http/scope.ts'
import type { Log } from '../log.ts'

/** Methods that change nothing (RFC 9110 section 9.2.1). */
export const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Between lines of the log about `Origin` and `Host`: strangers can cause them. */
const SITE_LOG_PAUSE_MS = 60_000
const PASS_HOST_ON =
  'if both are names of this server, let the proxy pass Host on, with its port; see "connbook help proxy"'

/**
 * Makes the check that a request passes before its route answers: its credential must be valid, and no page of another site
 * may have made it, unless the credential is a token. For a public route, only the second is checked.
 *
 * @returns Takes a request and its route, undefined if the path has none: strangers get 403 all the same. Unless the route
 *   is public, it sets `principal`, `credential` and `checkAgain` of the request. Throws a `Problem` 403.
 */
export function createAdmission(
  authenticator: Authenticator,
  log: Log,
): (request: Request, route: Route | undefined) => void {
  const checkSameSite = createSiteCheck(log)
  // One of each for all requests: with a closure in each, requests outlived many collections of the young generation.
  const checksAgain: Readonly<Record<Exclude<Route['access'], 'public'>, (this: Request) => void>> = {
    read: checkAgain(authenticator, 'read'),
    write: checkAgain(authenticator, 'write'),
    admin: checkAgain(authenticator, 'admin'),
    owner: checkAgain(authenticator, 'admin'),
  }
  return (request, route) => {
    if (route?.access === 'public') {
      checkSameSite(request)
      return
    }
    const credential = authenticator.authenticate(request)
    if (credential === undefined) throw notAuthenticated(request)
    if (credential.carrier !== 'bearer') checkSameSite(request)
    request.principal = credential.principal
    request.credential = credential
    request.checkAgain = checksAgain[route?.access ?? 'read']
  }
}

/** Checks that the scope and the grants of a caller allow the route. @throws {Problem} 403. */
export function authorize(route: Route, principal: Principal | undefined): void {
  if (route.access === 'owner') checkOwner(principal)
  else if (route.access !== 'public') checkScope(principal?.scope, route.access)
  if (principal?.grants !== undefined) checkGranted(route)
}

/** @throws {Problem} 403 for a token that came by the owner's socket. */
function checkOwner(principal: Principal | undefined) {
  if (principal?.kind === 'command') return
  const message = 'This is for the owner of the data folder, who calls without a token; leave it out'
  throw new Problem('insufficient_scope', message)
}

/** @returns The `checkAgain` of a request that needs the scope. */
function checkAgain(authenticator: Authenticator, needed: ScopeWord): (this: Request) => void {
  return function () {
    const principal = authenticator.principalNow(this)
    if (principal === undefined) throw notAuthenticated(this)
    checkScope(principal.scope, needed)
    this.principal = principal
  }
}

/** @throws {Problem} 403 if the route is not for accounts that see only some records. */
function checkGranted({ limits }: Route) {
  if (limits !== 'refused') return
  const message =
    'This is about all records, and this account has grants for some; use an account without grants'
  throw new Problem('not_granted', message)
}

/**
 * Makes the check that no page of another site makes the browser change something, or log in. It throws a `Problem` 403.
 *
 * @param log Gets `Origin` and `Host` that differ, now and then: a proxy may be the cause, and only its operator can mend
 *   that.
 */
function createSiteCheck(log: Log): (request: Request) => void {
  let loggedMs = Number.NEGATIVE_INFINITY
  return ({ method, headers }) => {
    if (SAFE_METHODS.has(method) || !isCrossSite(headers)) return
    const { 'sec-fetch-site': site, origin, host } = headers
    let message = 'A page of another site made this request'
    if (site === undefined || site === 'none') {
      message += ', or a proxy on its way did not pass Host on'
      if (performance.now() >= loggedMs + SITE_LOG_PAUSE_MS) {
        loggedMs = performance.now()
        log.warn('origin_refused', { origin, host, remedy: PASS_HOST_ON })
      }
    }
    throw new Problem('cross_site', message)
  }
}

/** @throws {Problem} 403 with the missing scope (RFC 6750 section 3.1). */
function checkScope(scope: Scope | undefined, needed: ScopeWord) {
  if (scope !== undefined && allows(scope, needed)) return
  const headers = { 'WWW-Authenticate': `${BEARER_CHALLENGE}, error="insufficient_scope", scope="${needed}"` }
  const message =
    needed === 'admin'
      ? 'This credential cannot manage accounts; use one with the scope admin'
      : 'This credential is read-only; to change records, use one with the scope write'
  throw new Problem('insufficient_scope', message, { headers })
}

/** Whether a request was refused for want of a valid credential. */
export function isOfCredential(error: unknown): boolean {
  return error instanceof Problem && (error.code === 'not_authenticated' || error.code === 'invalid_token')
}

/** Gives an error code only if a bearer token was sent (RFC 6750 section 3.1). */
function notAuthenticated(request: Request): Problem {
  const { authorization } = request.headers
  if (authorization !== undefined && readBearer(authorization) !== undefined) {
    const headers = { 'WWW-Authenticate': `${BEARER_CHALLENGE}, error="invalid_token"` }
    const message = 'The token is not valid, or not any more; get a new one'
    return new Problem('invalid_token', message, { headers })
  }
  const message = 'Log in at /login, or get a token at /v1/auth/token'
  return new Problem('not_authenticated', message)
}
