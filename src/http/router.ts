import type { Reply, Request } from './message.ts'
import type { Problem } from './problem.ts'

export type Handler = (request: Request, parameter: string) => Reply | Promise<Reply>

/** One method of one resource. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /**
   * Literal segments, and at most one `:parameter`, anywhere: any one segment that is not empty. A path that ends in a
   * slash is also found without it.
   */
  readonly path: string
  /**
   * Who may call it: everybody; whoever has a credential; or only a credential with the scope `write`, for what
   * changes records.
   */
  readonly access: 'public' | 'read' | 'write'
  readonly handle: Handler
  /** How this route tells errors; `application/problem+json` when not given. */
  readonly problemReply?: ((problem: Problem) => Reply) | undefined
}

/** What a path leads to. */
export interface Match {
  /** The route of the method; undefined when the resource does not have the method. */
  readonly route: Route | undefined
  /** The methods that the resource has, as the `Allow` header lists them. */
  readonly allow: string
  /** The path as routes have it, with its slash at the end and without base path. */
  readonly pattern: string
  /** The decoded segment that stands for `:parameter`; empty without one. */
  readonly parameter: string
}

interface Resource {
  readonly pattern: string
  readonly routes: Map<string, Route>
  allow: string
}

/** Where a path has got to after some of its segments. */
interface Place {
  /** By the next segment, decoded: a slash that was encoded separates nothing. */
  readonly byName: Map<string, Place>
  /** Where every other segment leads. */
  parameter?: Place
  /** What is found when the path ends here. */
  resource?: Resource
}

export interface Router {
  /**
   * Finds the route of a request. HEAD goes wherever GET goes.
   *
   * @param path Still percent-encoded; each segment is decoded once.
   * @returns undefined when nothing is there; 'malformed' when a segment is no percent-encoded UTF-8.
   */
  match(method: string, path: string): Match | 'malformed' | undefined
}

/**
 * @param basePath What stands before every path: empty, or `/like/this`.
 * @throws {Error} if a literal segment stands beside a parameter: it would hide whatever has that name.
 */
export function createRouter(routes: readonly Route[], basePath: string): Router {
  const root: Place = { byName: new Map() }
  for (const route of routes) {
    addRoute(route, basePath + route.path)
    if (route.path.endsWith('/')) addRoute(route, basePath + route.path.slice(0, -1))
  }
  return {
    match(method, path) {
      let place = path.startsWith('/') ? root : undefined
      let parameter = ''
      let end = 0
      while (place !== undefined && end < path.length) {
        const start = end + 1
        const slash = path.indexOf('/', start)
        end = slash === -1 ? path.length : slash
        const segment = decode(path.slice(start, end))
        if (segment === undefined) return 'malformed'
        const named = place.byName.get(segment)
        if (named === undefined && segment !== '') {
          parameter = segment
          place = place.parameter
        } else place = named
      }
      const resource = place?.resource
      if (resource === undefined) return decode(path.slice(end)) === undefined ? 'malformed' : undefined
      return {
        route: resource.routes.get(method === 'HEAD' ? 'GET' : method),
        allow: resource.allow,
        pattern: resource.pattern,
        parameter,
      }
    },
  }

  function addRoute(route: Route, path: string) {
    let place = root
    for (const segment of path.split('/').slice(1)) place = placeBelow(place, segment, route.path)
    place.resource ??= { pattern: route.path, routes: new Map(), allow: '' }
    const { resource } = place
    resource.routes.set(route.method, route)
    const methods = [...resource.routes.keys()].flatMap((method) =>
      method === 'GET' ? ['GET', 'HEAD'] : [method],
    )
    resource.allow = [...methods, 'OPTIONS'].join(', ')
  }

  function placeBelow(place: Place, segment: string, pattern: string): Place {
    const isParameter = segment.startsWith(':')
    const below = (isParameter ? place.parameter : place.byName.get(segment)) ?? { byName: new Map() }
    if (isParameter) place.parameter = below
    else place.byName.set(segment, below)
    const hides = place.parameter !== undefined && [...place.byName.keys()].some((name) => name !== '')
    if (hides)
      throw new Error(`Cannot add the route "${pattern}": a literal segment stands beside a parameter`)
    return below
  }
}

/** Undefined for what is no percent-encoded UTF-8. */
function decode(segment: string): string | undefined {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
