import type { Reply, Request } from './message.ts'
import type { Problem } from './problem.ts'

export type Handler = (request: Request, parameter: string) => Reply | Promise<Reply>

/** One method of one resource. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /**
   * Literal segments, of which the last may be `:parameter`: any one segment that is not empty. A path that ends in a
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
  readonly problemReply?: (problem: Problem) => Reply
}

/** What a path leads to. */
export interface Match {
  /** The route of the method; undefined when the resource does not have the method. */
  readonly route: Route | undefined
  /** The methods that the resource has, as the `Allow` header lists them. */
  readonly allow: string
  /** The decoded segment that stands for `:parameter`; empty without one. */
  readonly parameter: string
}

interface Resource {
  readonly segments: readonly string[]
  readonly hasParameter: boolean
  readonly routes: Map<string, Route>
  allow: string
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

/** @param basePath What stands before every path: empty, or `/like/this`. */
export function createRouter(routes: readonly Route[], basePath: string): Router {
  const resources: Resource[] = []
  for (const route of routes) {
    addRoute(route, basePath + route.path)
    if (route.path.endsWith('/')) addRoute(route, basePath + route.path.slice(0, -1))
  }
  return {
    match(method, path) {
      const segments = decodeSegments(path)
      if (segments === undefined) return 'malformed'
      const resource = resources.find((candidate) => isAt(candidate, segments))
      if (resource === undefined) return undefined
      const route = resource.routes.get(method === 'HEAD' ? 'GET' : method)
      return { route, allow: resource.allow, parameter: resource.hasParameter ? (segments.at(-1) ?? '') : '' }
    },
  }

  function addRoute(route: Route, path: string) {
    const segments = path.split('/')
    let resource = resources.find((known) => known.segments.join('/') === path)
    if (resource === undefined) {
      const hasParameter = segments.at(-1)?.startsWith(':') ?? false
      resource = { segments, hasParameter, routes: new Map(), allow: '' }
      resources.push(resource)
    }
    resource.routes.set(route.method, route)
    const methods = [...resource.routes.keys()].flatMap((method) =>
      method === 'GET' ? ['GET', 'HEAD'] : [method],
    )
    resource.allow = [...methods, 'OPTIONS'].join(', ')
  }
}

function isAt(resource: Resource, segments: readonly string[]): boolean {
  if (resource.segments.length !== segments.length) return false
  const last = segments.length - 1
  for (let i = 0; i < last; i++) if (resource.segments[i] !== segments[i]) return false
  return resource.hasParameter ? segments[last] !== '' : resource.segments[last] === segments[last]
}

function decodeSegments(path: string): string[] | undefined {
  const segments = path.split('/')
  if (!path.includes('%')) return segments
  try {
    return segments.map(decodeURIComponent)
  } catch {
    return undefined
  }
}
