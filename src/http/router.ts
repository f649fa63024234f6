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

/** The resources whose paths differ in the last segment only. */
interface Folder {
  readonly byName: Map<string, Resource>
  /** Where every other name leads. */
  parameter?: Resource
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
  const folders = new Map<string, Folder>()
  for (const route of routes) {
    addRoute(route, basePath + route.path)
    if (route.path.endsWith('/')) addRoute(route, basePath + route.path.slice(0, -1))
  }
  return {
    match(method, path) {
      const end = path.lastIndexOf('/')
      const folderPath = decodeSegments(path.slice(0, Math.max(0, end)))
      const name = decode(path.slice(end + 1))
      if (folderPath === undefined || name === undefined) return 'malformed'
      const folder = end === -1 ? undefined : folders.get(folderPath)
      const named = folder?.byName.get(name)
      const resource = named ?? (name === '' ? undefined : folder?.parameter)
      if (resource === undefined) return undefined
      return {
        route: resource.routes.get(method === 'HEAD' ? 'GET' : method),
        allow: resource.allow,
        pattern: resource.pattern,
        parameter: named === undefined ? name : '',
      }
    },
  }

  function addRoute(route: Route, path: string) {
    const end = path.lastIndexOf('/')
    const resource = resourceAt(path.slice(0, end), path.slice(end + 1), route.path)
    resource.routes.set(route.method, route)
    const methods = [...resource.routes.keys()].flatMap((method) =>
      method === 'GET' ? ['GET', 'HEAD'] : [method],
    )
    resource.allow = [...methods, 'OPTIONS'].join(', ')
  }

  function resourceAt(folderPath: string, name: string, pattern: string): Resource {
    const folder: Folder = folders.get(folderPath) ?? { byName: new Map() }
    folders.set(folderPath, folder)
    const isParameter = name.startsWith(':')
    const known = isParameter ? folder.parameter : folder.byName.get(name)
    const resource = known ?? { pattern, routes: new Map(), allow: '' }
    if (isParameter) folder.parameter = resource
    else folder.byName.set(name, resource)
    return resource
  }
}

/** A slash that was encoded separates nothing, and so stays encoded; undefined as for `decode`. */
function decodeSegments(path: string): string | undefined {
  if (!path.includes('%')) return path
  const segments = path.split('/').map((segment) => decode(segment)?.replaceAll('/', '%2F'))
  return segments.includes(undefined) ? undefined : segments.join('/')
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
