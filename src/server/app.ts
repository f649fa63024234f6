import { type Authenticator, readBearer } from '../auth/authenticator.ts'
import { isCrossSite } from '../http/header-fields.ts'
import { areSameGrants, jsonReply, type Reply, type Request } from '../http/message.ts'
import { BEARER_CHALLENGE, PROBLEM_TYPE, Problem, problemOf } from '../http/problem.ts'
import {
  adviseOnPath,
  createRouter,
  type Match,
  type Redirect,
  type Route,
  type Router,
} from '../http/router.ts'
import { allows, type Scope, type ScopeWord } from '../http/scope.ts'
import type { Log } from '../log.ts'
import { WHOLE_SERVER } from './framing.ts'

/** Turns a request into a reply; never throws, never rejects. */
export type App = (request: Request) => Reply | Promise<Reply>

/** Why a starting server is not ready. */
export const STILL_READING = 'The records are still being read'

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * The one place where a request meets a resource: match, authenticate, handle, reply.
 *
 * @param routes Every route of every resource.
 * @param basePath Prefix of every path: empty, or `/like/this`.
 * @param redirect Is asked before the caller is authenticated.
 */
export function createApp(
  routes: readonly Route[],
  basePath: string,
  authenticator: Authenticator,
  log: Log,
  redirect?: Redirect,
): App {
  const router = createRouter(routes, basePath)
  // One of each for all requests: with a closure in each, requests outlived many collections of the young generation.
  const checksAgain: Readonly<Record<ScopeWord, (this: Request) => void>> = {
    read() {
      checkMay('read', this)
    },
    write() {
      checkMay('write', this)
    },
    admin() {
      checkMay('admin', this)
    },
  }

  return (request) => {
    const match = matchOf(router, request)
    try {
      const reply = dispatch(request, match)
      return reply instanceof Promise ? reply.catch((error: unknown) => refuse(error, request, match)) : reply
    } catch (error) {
      return refuse(error, request, match)
    }
  }

  function dispatch(request: Request, match: ReturnType<typeof router.match>): Reply | Promise<Reply> {
    const redirected = match === undefined ? redirect?.(request) : undefined
    if (redirected !== undefined) return redirected
    const route = match === 'malformed' ? undefined : match?.route
    if (route?.access === 'public') checkSameSite(request)
    else admit(request, route)
    if (match === 'malformed') {
      throw new Problem('malformed_path', 'The path is not valid percent-encoded UTF-8')
    }
    if (match === undefined) {
      if (request.path === WHOLE_SERVER) return { status: 204, headers: {} }
      throw new Problem('unknown_path', `There is nothing at this path${adviseOnPath(router, request.path)}`)
    }
    if (route !== undefined) {
      // Refused before the handler looks at record or body; a reader may see 404 and 405.
      if (route.access !== 'public') checkScope(request.principal?.scope, route.access)
      if (request.principal?.grants !== undefined) checkGranted(route)
      const make = () => route.handle(request, match.parameter)
      const reply = make()
      const isSlowRead = reply instanceof Promise && SAFE_METHODS.has(request.method)
      return isSlowRead ? judgedAgain(request, reply, make) : reply
    }
    if (request.method === 'OPTIONS') return { status: 204, headers: { Allow: match.allow } }
    throw new Problem('method_not_allowed', `This resource takes ${match.allow}`, {
      headers: { Allow: match.allow },
    })
  }

  /** Checks the credential and, unless it is a token, that the request is not cross-site. @throws {Problem} 403. */
  function admit(request: Request, route: Route | undefined) {
    const credential = authenticator.authenticate(request)
    if (credential === undefined) throw notAuthenticated(request)
    if (credential.carrier !== 'bearer') checkSameSite(request)
    request.principal = credential.principal
    request.credential = credential
    const needed = route?.access ?? 'read'
    request.checkAgain = checksAgain[needed === 'public' ? 'read' : needed]
  }

  /** @throws {Problem} 403. */
  function checkMay(needed: ScopeWord, request: Request) {
    const principal = authenticator.principalNow(request)
    if (principal === undefined) throw notAuthenticated(request)
    checkScope(principal.scope, needed)
    request.principal = principal
  }

  /** An expiry that refuses a credential must survive a crash: it is durable before the answer. */
  function refuse(
    error: unknown,
    request: Request,
    match: Match | 'malformed' | undefined,
  ): Reply | Promise<Reply> {
    const remembering = isOfCredential(error) ? authenticator.remembering : undefined
    return remembering === undefined
      ? replyTo(error, request, match)
      : remembering.then(() => replyTo(error, request, match))
  }

  function replyTo(error: unknown, request: Request, match: Match | 'malformed' | undefined): Reply {
    let problem = problemOf(error)
    if (problem === undefined) {
      log.error('request_failed', {
        request_id: request.requestId,
        reason: error instanceof Error ? error.stack : String(error),
      })
      const message = 'The request could not be completed; the log of the server says why'
      problem = new Problem('internal', message)
    }
    const route = match === 'malformed' ? undefined : match?.route
    return route?.problemReply?.(problem) ?? problemReply(problem)
  }
}

/**
 * Answers while the records are still being read.
 *
 * @param routes Public routes that need no records.
 * @param next Answers everything else once it is ready; undefined if that takes long, and the answer is 503.
 */
export function createStartingApp(
  routes: readonly Route[],
  basePath: string,
  next: Promise<App | undefined>,
  redirect?: Redirect,
): App {
  const router = createRouter(routes, basePath)

  return (request) => {
    const match = matchOf(router, request)
    try {
      const reply = match === undefined ? redirect?.(request) : handle(request, match)
      if (reply === undefined) return answerLater(request)
      return reply instanceof Promise ? reply.catch((error) => replyTo(error, request)) : reply
    } catch (error) {
      return replyTo(error, request)
    }
  }

  function handle(request: Request, match: Match | 'malformed') {
    return match === 'malformed' ? undefined : match.route?.handle(request, match.parameter)
  }

  /** Any other error is left to the started server, which can log it. */
  function replyTo(error: unknown, request: Request): Reply | Promise<Reply> {
    return error instanceof Problem ? problemReply(error) : answerLater(request)
  }

  function answerLater(request: Request): Promise<Reply> {
    return next.then((app) => (app === undefined ? stillStarting() : app(request)))
  }
}

/** Also sets the request's `pattern`. */
function matchOf(router: Router, request: Request): ReturnType<Router['match']> {
  const match = router.match(request.method, request.path)
  if (match !== undefined && match !== 'malformed') request.pattern = match.pattern
  return match
}

function stillStarting(): Reply {
  return problemReply(new Problem('starting', STILL_READING, { headers: { 'Retry-After': '1' } }))
}

export function problemReply(problem: Problem): Reply {
  return jsonReply(problem.status, problem, { 'Content-Type': PROBLEM_TYPE, ...problem.headers })
}

/**
 * A reply, or a refusal, that took its time. It is made again if its account sees other records by now.
 *
 * @throws {Problem} 403 if the caller may not read it any more.
 */
async function judgedAgain(
  request: Request,
  first: Promise<Reply>,
  make: () => Reply | Promise<Reply>,
): Promise<Reply> {
  for (let made = first; ; made = Promise.try(make)) {
    const reply = await made.catch(() => undefined)
    // A live answer has begun already, and ends by itself.
    if (typeof reply?.body === 'object' && 'begin' in reply.body) return reply
    const { principal } = request
    request.checkAgain?.()
    if (areSameGrants(principal?.grants, request.principal?.grants)) return made
  }
}

/** @throws {Problem} 403 if the route is not for accounts that see only some records. */
function checkGranted({ limits }: Route) {
  if (limits !== 'refused') return
  const message =
    'This is about all records, and this account has grants for some; use an account without grants'
  throw new Problem('not_granted', message, { headers: { 'WWW-Authenticate': BEARER_CHALLENGE } })
}

/** @throws {Problem} 403 if a page of another site makes the browser change something, or log in. */
function checkSameSite(request: Request) {
  if (SAFE_METHODS.has(request.method) || !isCrossSite(request.headers)) return
  const message = 'A page of another site made this request'
  throw new Problem('cross_site', message, { headers: { 'WWW-Authenticate': BEARER_CHALLENGE } })
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

function isOfCredential(error: unknown): boolean {
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
  return new Problem('not_authenticated', message, { headers: { 'WWW-Authenticate': BEARER_CHALLENGE } })
}
