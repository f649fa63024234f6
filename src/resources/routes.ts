import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import type { Handler, Route } from '../http/router.ts'
import type { Family } from '../metrics/family.ts'
import type { Scheduler } from '../scheduler.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { accountHandlers } from './account.ts'
import { oauthReply } from './client-request.ts'
import { configurationHandlers } from './configurations.ts'
import { eventHandlers } from './events.ts'
import { exportHandlers } from './export.ts'
import { healthHandlers } from './health.ts'
import { importHandlers } from './import.ts'
import { metadataHandlers } from './metadata.ts'
import { metricsHandlers } from './metrics.ts'
import { sessionHandlers } from './session.ts'
import { tokenHandlers } from './token.ts'
import type { Waiting } from './waiting.ts'

export interface Parts {
  readonly authenticator: Authenticator
  readonly store: ConfigurationStore
  readonly audit: AuditTrail
  readonly scheduler: Scheduler
  /** Prefix of the URLs in answers. */
  readonly basePath: string
  /** As in `metadataHandlers`. */
  readonly publicUrl: string | undefined
  /** Why the service cannot take changes now; undefined when it can. */
  readonly whyNotReady: () => string | undefined
  readonly metrics: readonly Family[]
  readonly metricsPublic: boolean
  readonly waiting: Waiting
}

type Resources = ReturnType<typeof createResources>

/** A route; the manual's table of calls is made from these. */
export type RouteDescription = Omit<Route, 'handle'> & {
  readonly publicBy?: 'metricsPublic'
  /** One line of Markdown. */
  readonly summary: string
  /** The statuses with a meaning of their own, and what comes with them; one line of Markdown. */
  readonly answers: string
} & (
    | { readonly isThereAtStart?: false; readonly handler: (resources: Resources) => Handler }
    /** Answers already while the records are being read. */
    | { readonly isThereAtStart: true; readonly handler: (resources: Pick<Resources, 'health'>) => Handler }
  )

/** The whole HTTP interface. */
export const routes: readonly RouteDescription[] = [
  {
    method: 'POST',
    path: '/login',
    access: 'public',
    summary: 'starts a session: `{"username":…,"password":…}` (or `name` for `username`)',
    answers: '200 `Authorized` and a cookie; 401 `Unauthorized`',
    handler: ({ session }) => session.logIn,
  },
  {
    method: 'POST',
    path: '/logout',
    // A read-only account must be able to log out; no record changes.
    access: 'read',
    summary: 'ends the session or token that makes the call',
    answers: '200 `Success`',
    handler: ({ session }) => session.logOut,
  },
  {
    method: 'POST',
    path: '/v1/auth/token',
    access: 'public',
    summary: 'issues a token: `{"client_id":…,"client_secret":…}`, as JSON, as a form, or by HTTP Basic',
    answers: '200 `{"access_token":…,"token_type":"Bearer","expires_in":3600,"scope":"read write"}`; 401',
    handler: ({ token }) => token.issue,
    problemReply: oauthReply,
  },
  {
    method: 'POST',
    path: '/v1/auth/revoke',
    access: 'public',
    summary:
      'ends a token of the client that calls: `{"client_id":…,"client_secret":…,"token":…}`, sent as for a token',
    answers: '200, no body; 401',
    handler: ({ token }) => token.revoke,
    problemReply: oauthReply,
  },
  {
    method: 'GET',
    path: '/.well-known/oauth-authorization-server',
    access: 'public',
    isWellKnown: true,
    summary: 'tells OAuth clients where to get and revoke tokens',
    answers: '200',
    handler: ({ metadata }) => metadata.read,
  },
  {
    method: 'GET',
    path: '/v1/whoami',
    access: 'read',
    summary: 'tells whose credential makes the call, what it may do, and when it expires',
    answers: '200 `{"account":…,"kind":"user","scope":"read write","expires_at":…}`',
    handler: ({ account }) => account.whoAmI,
  },
  {
    method: 'POST',
    path: '/v1/password',
    // A read-only user may change the password, too; no record changes.
    access: 'read',
    summary:
      'gives the user of the session a new password: `{"password":…,"new_password":…}`; ends the other sessions',
    answers: '200 `Success` and a new cookie; 400',
    handler: ({ account }) => account.changePassword,
  },
  {
    method: 'GET',
    path: '/configurations/',
    access: 'read',
    summary:
      'gets all records, those that filters keep, or one page of them; optional: `q`, `prefix`, `name`, `hostname`, `port`, `username`, `sort`, `page`, `per_page`',
    answers: '200',
    handler: ({ configurations }) => configurations.list,
  },
  {
    method: 'POST',
    path: '/configurations/',
    access: 'write',
    summary: 'adds a record; needs all four fields',
    answers: '200 with `Location`; 409',
    handler: ({ configurations }) => configurations.add,
  },
  {
    method: 'GET',
    path: '/configurations/:name',
    access: 'read',
    summary: 'gets one record',
    answers: '200; 404',
    handler: ({ configurations }) => configurations.get,
  },
  {
    method: 'PUT',
    path: '/configurations/:name',
    access: 'write',
    summary: 'adds a record, or replaces all its fields; `name` may be left out',
    answers: '201 with `Location` if it is new; 200',
    handler: ({ configurations }) => configurations.put,
  },
  {
    method: 'PATCH',
    path: '/configurations/:name',
    access: 'write',
    summary: 'changes the fields that you send',
    answers: '200; 404, 409',
    handler: ({ configurations }) => configurations.modify,
  },
  {
    method: 'DELETE',
    path: '/configurations/:name',
    access: 'write',
    summary: 'deletes a record',
    answers: '209, no body; 404',
    handler: ({ configurations }) => configurations.remove,
  },
  {
    method: 'GET',
    path: '/v1/events',
    access: 'read',
    lasts: true,
    summary:
      'tells changes as they happen; optional: `since`, `prefix`, `name`, `hostname`, `port`, `username`',
    answers: '200 `text/event-stream`',
    handler: ({ events }) => events.follow,
  },
  {
    method: 'GET',
    path: '/v1/export',
    access: 'read',
    summary: 'gets all records in the format of another tool; needs `format`; optional: `skip`',
    answers: '200; 422',
    handler: ({ exports }) => exports.exportAll,
  },
  {
    method: 'POST',
    path: '/v1/import',
    access: 'write',
    summary: 'adds, changes and removes many records at once; optional: `mode`, `format`, `dry_run`',
    answers: '200; 400 with the line of each fault',
    handler: ({ imports }) => imports.importAll,
  },
  {
    method: 'GET',
    path: '/healthz',
    access: 'public',
    isThereAtStart: true,
    summary: 'says that the process is alive',
    answers: '200',
    handler: ({ health }) => health.healthz,
  },
  {
    method: 'GET',
    path: '/readyz',
    access: 'public',
    isThereAtStart: true,
    summary: 'says whether connbook accepts changes',
    answers: '200; 503',
    handler: ({ health }) => health.readyz,
  },
  {
    method: 'GET',
    path: '/metrics',
    access: 'read',
    publicBy: 'metricsPublic',
    summary: 'gets the metrics, in the text format of Prometheus',
    answers: '200',
    handler: ({ metrics }) => metrics.read,
  },
]

export interface RouteSets {
  /** Under the base path. */
  readonly all: readonly Route[]
  /** Of the owner's socket, where URLs have no base path; all else is shared. */
  readonly owner: readonly Route[]
}

export function createRoutes(parts: Parts): RouteSets {
  const resources = createResources(parts)
  const handledBy = (some: Resources): Route[] =>
    routes.map((route) => {
      const isPublic = route.publicBy !== undefined && parts[route.publicBy]
      return { ...route, access: isPublic ? 'public' : route.access, handle: route.handler(some) }
    })
  const configurations = configurationHandlers(parts.store, '', parts.scheduler, parts.waiting.polls)
  const metadata = metadataHandlers(parts.publicUrl, '')
  return { all: handledBy(resources), owner: handledBy({ ...resources, configurations, metadata }) }
}

/** The routes for the time while the records are being read. */
export function createStartingRoutes({ whyNotReady }: Pick<Parts, 'whyNotReady'>): Route[] {
  const resources = { health: healthHandlers(whyNotReady) }
  return routes.flatMap((route) =>
    route.isThereAtStart ? [{ ...route, handle: route.handler(resources) }] : [],
  )
}

function createResources(parts: Parts) {
  const { authenticator, store, audit, scheduler, basePath, publicUrl, whyNotReady, metrics, waiting } = parts
  return {
    account: accountHandlers(authenticator),
    metadata: metadataHandlers(publicUrl, basePath),
    session: sessionHandlers(authenticator),
    token: tokenHandlers(authenticator),
    configurations: configurationHandlers(store, basePath, scheduler, waiting.polls),
    events: eventHandlers(store, waiting.streams),
    exports: exportHandlers(store, scheduler),
    imports: importHandlers(store, audit),
    health: healthHandlers(whyNotReady),
    metrics: metricsHandlers(metrics),
  }
}
