import type { Reply, Request } from './message.ts'
import type { Problem } from './problem.ts'
import type { ScopeWord } from './scope.ts'
import { decodePercent } from './url.ts'

/** More than any route has. */
const SEGMENTS_MAX = 8

export type Handler = (request: Request, parameter: string) => Reply | Promise<Reply>

/** Answers a request that no route matches; undefined where it does not apply. */
export type Redirect = (request: Request) => Reply | undefined

/** One method of one resource. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Literal segments, and at most one `:parameter` for any non-empty segment. Requests may leave out a final slash. */
  readonly path: string
  /**
   * `public` takes no credential, `read` any; `write` one that may change records, `admin` one that manages accounts. The
   * `owner` of the data folder calls by its socket, and nobody else finds the route.
   */
  readonly access: 'public' | ScopeWord | 'owner'
  /**
   * What accounts with grants get: the `same` as others; of the `records` what they see, as if there were no others; or a
   * 403 where it is `refused`.
   */
  readonly limits: 'same' | 'records' | 'refused'
  /** Its path is also found before the base path (RFC 8414 section 3.1). */
  readonly isWellKnown?: boolean
  readonly handle: Handler
  /** Formats errors of this route; `application/problem+json` if not given. */
  readonly problemReply?: ((problem: Problem) => Reply) | undefined
}

export interface Match {
  /** Undefined if the resource does not have the method. */
  readonly route: Route | undefined
  /** The value of the `Allow` header. */
  readonly allow: string
  /** The `path` of the route, without base path. */
  readonly pattern: string
  /** The decoded segment of `:parameter`; empty without one. */
  readonly parameter: string
}

interface Resource {
  readonly pattern: string
  readonly routes: Map<string, Route>
  allow: string
}

/** A node of the tree of paths. */
interface RouteNode {
  /** By segment as it is sent. */
  readonly byName: Map<string, RouteNode>
  /** For any other segment. */
  parameter?: RouteNode
  /** For a path that ends here. */
  resource?: Resource
}

export interface Router {
  /**
   * Finds the route of a request; HEAD goes where GET goes.
   *
   * Literal segments are compared as they are sent: a proxy in front compares so, and its rules must hold here.
   *
   * @param path Still percent-encoded; only the parameter is decoded, once.
   * @returns undefined without a match; 'malformed' if the path is not percent-encoded UTF-8.
   */
  match(method: string, path: string): Match | 'malformed' | undefined
}

/**
 * @param basePath Prefix of every path: empty, or `/like/this`.
 * @throws {Error} if a literal segment stands beside a parameter: a record of that name could not be reached.
 */
export function createRouter(routes: readonly Route[], basePath: string): Router {
  const root: RouteNode = { byName: new Map() }
  for (const route of routes) {
    addRoute(route, basePath + route.path)
    if (route.isWellKnown && basePath !== '') addRoute(route, route.path + basePath)
    if (route.path.endsWith('/')) addRoute(route, basePath + route.path.slice(0, -1))
  }
  return {
    match(method, path) {
      let node = path.startsWith('/') ? root : undefined
      let sent = ''
      let end = 0
      while (node !== undefined && end < path.length) {
        const start = end + 1
        const slash = path.indexOf('/', start)
        end = slash === -1 ? path.length : slash
        const segment = path.slice(start, end)
        const named = node.byName.get(segment)
        if (named === undefined && segment !== '') {
          sent = segment
          node = node.parameter
        } else node = named
      }
      const resource = node?.resource
      const parameter = decodePercent(resource === undefined ? path : sent)
      if (parameter === undefined) return 'malformed'
      if (resource === undefined) return undefined
      return {
        route: resource.routes.get(method === 'HEAD' ? 'GET' : method),
        allow: resource.allow,
        pattern: resource.pattern,
        parameter,
      }
    },
  }

  function addRoute(route: Route, path: string) {
    let node = root
    for (const segment of path.split('/').slice(1)) node = nodeBelow(node, segment, route.path)
    node.resource ??= { pattern: route.path, routes: new Map(), allow: '' }
    const { resource } = node
    resource.routes.set(route.method, route)
    resource.allow = [...resource.routes.keys(), 'OPTIONS'].join(', ').replace('GET', 'GET, HEAD')
  }

  function nodeBelow(node: RouteNode, segment: string, pattern: string): RouteNode {
    const isParameter = segment.startsWith(':')
    const below = (isParameter ? node.parameter : node.byName.get(segment)) ?? { byName: new Map() }
    if (isParameter) node.parameter = below
    else node.byName.set(segment, below)
    if (node.parameter !== undefined && [...node.byName.keys()].some((name) => name !== ''))
      throw new Error(`Cannot add the route "${pattern}": a literal segment stands beside a parameter`)
    return below
  }
}

/** Ends "There is nothing at this path": what is probably wrong; empty when nothing comes to mind. */
export function adviseOnPath(router: Router, path: string): string {
  const single = path.replaceAll(/\/{2,}/g, '/')
  if (single !== path && isKnown(router, single)) return '; two slashes follow each other: write one'
  if (isKnown(router, single.slice(0, -1)) && single.endsWith('/'))
    return '; it ends in a slash too many: leave it out, or write it %2F if the name ends in it'
  const decoded = decodePercent(single) ?? single
  if (decoded !== single && isKnown(router, decoded))
    return '; percent-encode only names, not the rest of a path'
  if (isBelowParameter(router, single)) return '; a slash in a name is written %2F'
  return ''
}

/** Whether a parameter takes an earlier segment, so that the rest may have been meant as part of it. */
function isBelowParameter(router: Router, path: string): boolean {
  let end = 0
  for (let segments = 0; segments < SEGMENTS_MAX; segments++) {
    end = path.indexOf('/', end + 1)
    if (end === -1) return false
    const match = router.match('GET', path.slice(0, end))
    if (match !== undefined && match !== 'malformed' && match.pattern.includes('/:')) return true
  }
  return false
}

function isKnown(router: Router, path: string): boolean {
  const match = router.match('GET', path)
  return match !== undefined && match !== 'malformed'
}
