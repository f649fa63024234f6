import type { Handler, Redirect, Route } from '../http/router.ts'
import { describeApi } from '../openapi/document.ts'
import { account } from './account.ts'
import { clients, users } from './accounts.ts'
import { backup } from './backup.ts'
import { configurations } from './configurations.ts'
import { consoleRedirect, webConsole } from './console.ts'
import { events } from './events.ts'
import { exporting } from './export.ts'
import { health } from './health.ts'
import { history } from './history.ts'
import { importing } from './import.ts'
import { keys } from './keys.ts'
import { labelCounts } from './label-counts.ts'
import { manyChanges } from './many-changes.ts'
import { metadata } from './metadata.ts'
import { metrics } from './metrics.ts'
import { openApi } from './openapi.ts'
import type { OwnerRoute, Parts, Resource, RouteDescription, StartingParts } from './resource.ts'
import { session } from './session.ts'
import { guarded, type StateGuard } from './state-guard.ts'
import { status } from './status.ts'
import { token } from './token.ts'

type AnyRoute = RouteDescription | OwnerRoute

/** In the order of the manual's table of calls. */
const resources: readonly Resource[] = [
  ...[session, token, metadata, account],
  ...[users, clients, keys, backup],
  ...[configurations, manyChanges, labelCounts, events, history, exporting, importing],
  ...[health, metrics, status, openApi, webConsole],
]

/** Those that answer already while the records are being read. */
const resourcesAtStart: readonly Resource<StartingParts>[] = [health, webConsole]

/** The whole HTTP interface, but for the way of browsers from the root to the console, and for what is only the owner's. */
export const routes: readonly RouteDescription[] = resources.flatMap(({ routes }) => withoutOwners(routes))

export interface RouteSets {
  /** Under the base path. */
  readonly all: readonly Route[]
  /** Routes of the owner's socket: without base path and console, and with those of the owner; all else is shared. */
  readonly owner: readonly Route[]
  /** Answers some requests for which `all` has no route. */
  readonly redirect: Redirect | undefined
}

/** The options of a server that say which routes there are, and for whom. */
export interface Opening {
  readonly metricsPublic: boolean
  /** Whether the console is not there; it is if absent. */
  readonly noConsole?: boolean
}

/** @param guard Undefined for a state that only this process changes. */
export function createRoutes(
  shared: Omit<Parts, 'describeCalls'>,
  opening: Opening,
  guard?: StateGuard,
): RouteSets {
  const openingOfOwner = { ...opening, noConsole: true }
  const parts: Parts = {
    ...shared,
    describeCalls: () => describeRoutes({ ...opening, basePath: shared.basePath }),
  }
  const partsOfOwner: Parts = {
    ...shared,
    basePath: '',
    describeCalls: () => describeRoutes({ ...openingOfOwner, basePath: '' }),
  }
  const all: Route[] = []
  const owner: Route[] = []
  for (const resource of resources) {
    const handlers = resource.handlers(parts)
    const handlersOfOwner = resource.dependsOnBasePath ? resource.handlers(partsOfOwner) : handlers
    all.push(...routesOf(withoutOwners(resource.routes), opening, handlers, guard))
    owner.push(...routesOf(resource.routes, openingOfOwner, handlersOfOwner, guard))
  }
  return { all, owner, redirect: redirectOf(shared.basePath, opening) }
}

/** The routes for the time while the records are being read. */
export function createStartingRoutes(
  parts: StartingParts,
  { noConsole = false }: Pick<Opening, 'noConsole'>,
): RouteSets {
  const routesBy = (opening: Opening) =>
    resourcesAtStart.flatMap(({ routes, handlers }) => routesOf(routes, opening, handlers(parts)))
  return {
    all: routesBy({ metricsPublic: false, noConsole }),
    owner: routesBy({ metricsPublic: false, noConsole: true }),
    redirect: redirectOf(parts.basePath, { noConsole }),
  }
}

/** The OpenAPI document of a server: a line of JSON. */
export function describeRoutes({ basePath, ...opening }: Opening & Pick<Parts, 'basePath'>): string {
  return `${JSON.stringify(describeApi(openTo(routes, opening), basePath))}\n`
}

function routesOf(
  some: readonly AnyRoute[],
  opening: Opening,
  handlers: Readonly<Record<string, Handler>>,
  guard?: StateGuard,
): Route[] {
  return openTo(some, opening).map((route) => {
    const handle = handlers[route.handler]
    if (handle === undefined) throw new Error(`There is no handler ${route.handler}`)
    const isGuarded = guard !== undefined && !route.isThereAtStart && !route.needsNoState
    return { ...route, handle: isGuarded ? guarded(handle, guard) : handle }
  })
}

function withoutOwners(some: readonly AnyRoute[]): RouteDescription[] {
  return some.filter((route) => route.access !== 'owner')
}

/** Those that a server with these options has, with the access that they give. */
function openTo<One extends AnyRoute>(some: readonly One[], opening: Opening): One[] {
  return some.flatMap((route) => {
    if (route.absentBy !== undefined && opening[route.absentBy]) return []
    const isPublic = route.publicBy !== undefined && opening[route.publicBy]
    return [isPublic ? { ...route, access: 'public' } : route]
  })
}

function redirectOf(basePath: string, { noConsole }: Pick<Opening, 'noConsole'>): Redirect | undefined {
  return noConsole ? undefined : consoleRedirect(basePath)
}
