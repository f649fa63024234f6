import type { Authenticator } from '../auth/authenticator.ts'
import { areSameGrants, type Reply, type Request, textReply } from '../http/message.ts'
import { PROBLEM_TYPE, Problem, problemOf } from '../http/problem.ts'
import {
  adviseOnPath,
  createRouter,
  type Match,
  type Redirect,
  type Route,
  type Router,
} from '../http/router.ts'
import type { Log } from '../log.ts'
import { escapeNonAscii } from '../text.ts'
import { authorize, createAdmission, isOfCredential, SAFE_METHODS } from './admission.ts'
import { WHOLE_SERVER } from './framing.ts'

/** Turns a request into a reply; never throws, never rejects. */
export type App = (request: Request) => Reply | Promise<Reply>

/** Why a starting server is not ready. */
export const STILL_READING = 'The records are still being read'

/** What the router finds of a request. */
type Found = ReturnType<Router['match']>

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
  const admit = createAdmission(authenticator, log)

  return (request) => {
    const match = matchOf(router, request)
    try {
      const reply = dispatch(request, match)
      return reply instanceof Promise ? reply.catch((error: unknown) => refuse(error, request, match)) : reply
    } catch (error) {
      return refuse(error, request, match)
    }
  }

  function dispatch(request: Request, match: Found): Reply | Promise<Reply> {
    const redirected = match === undefined ? redirect?.(request) : undefined
    if (redirected !== undefined) return redirected
    const route = routeOf(match)
    admit(request, route)
    if (match === 'malformed') {
      throw new Problem('malformed_path', 'The path is not valid percent-encoded UTF-8')
    }
    if (match === undefined) return replyWithoutMatch(request, router)
    if (route === undefined) return replyWithoutRoute(request, match)
    // Refused before the handler looks at record or body; a reader may see 404 and 405.
    authorize(route, request.principal)
    const reply = route.handle(request, match.parameter)
    const isSlowRead = reply instanceof Promise && SAFE_METHODS.has(request.method)
    return isSlowRead ? judgedAgain(request, reply, route, match.parameter) : reply
  }

  /** An expiry that refuses a credential must survive a crash: it is durable before the answer. */
  function refuse(error: unknown, request: Request, match: Found): Reply | Promise<Reply> {
    const remembering = isOfCredential(error) ? authenticator.remembering : undefined
    return remembering === undefined
      ? replyTo(error, request, match)
      : remembering.then(() => replyTo(error, request, match))
  }

  function replyTo(error: unknown, request: Request, match: Found): Reply {
    const problem = problemOf(error) ?? logUnforeseen(error, request, log)
    return routeOf(match)?.problemReply?.(problem) ?? problemReply(problem)
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
function matchOf(router: Router, request: Request): Found {
  const match = router.match(request.method, request.path)
  if (match !== undefined && match !== 'malformed') request.pattern = match.pattern
  return match
}

function routeOf(match: Found): Route | undefined {
  return match === 'malformed' ? undefined : match?.route
}

/** @throws {Problem} 404, unless the request is about the whole server. */
function replyWithoutMatch({ path }: Request, router: Router): Reply {
  if (path === WHOLE_SERVER) return { status: 204, headers: {} }
  throw new Problem('unknown_path', `There is nothing at this path${adviseOnPath(router, path)}`)
}

/** @throws {Problem} 405, unless the request asks for the methods. */
function replyWithoutRoute({ method }: Request, { allow }: Match): Reply {
  if (method === 'OPTIONS') return { status: 204, headers: { Allow: allow } }
  throw new Problem('method_not_allowed', `This resource takes ${allow}`, { headers: { Allow: allow } })
}

/** Logs an error that nobody has foreseen. @returns What the caller gets instead. */
function logUnforeseen(error: unknown, { requestId }: Request, log: Log): Problem {
  log.error('request_failed', {
    request_id: requestId,
    reason: error instanceof Error ? error.stack : String(error),
  })
  return new Problem('internal', 'The request could not be completed; the log of the server says why')
}

function stillStarting(): Reply {
  return problemReply(new Problem('starting', STILL_READING))
}

/**
 * The body is ASCII: JSON types have no charset (RFC 8259 section 11), and clients that expect one, such as Windows
 * PowerShell 5.1, would read it as Latin-1.
 */
export function problemReply(problem: Problem): Reply {
  const body = escapeNonAscii(JSON.stringify(problem))
  return textReply(problem.status, body, { 'Content-Type': PROBLEM_TYPE, ...problem.headers })
}

/**
 * A reply, or a refusal, that took its time. It is made again if its account sees other records by now.
 *
 * @throws {Problem} 403 if the caller may not read it any more.
 */
async function judgedAgain(
  request: Request,
  first: Promise<Reply>,
  route: Route,
  parameter: string,
): Promise<Reply> {
  for (let made = first; ; made = Promise.try(() => route.handle(request, parameter))) {
    const reply = await made.catch(() => undefined)
    // A live answer has begun already, and ends by itself.
    if (typeof reply?.body === 'object' && 'begin' in reply.body) return reply
    const { principal } = request
    request.checkAgain?.()
    if (areSameGrants(principal?.grants, request.principal?.grants)) return made
  }
}
