import type { AuditTrail } from '../audit/audit-trail.ts'
import type { RecordHistories } from '../audit/record-history.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import type { Clock } from '../auth/clock.ts'
import type { Handler, Redirect, Route } from '../http/router.ts'
import type { Family } from '../metrics/family.ts'
import { describeApi } from '../openapi/document.ts'
import type { Answer, Operation } from '../openapi/operation.ts'
import type { Scheduler } from '../scheduler.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { accountHandlers } from './account.ts'
import { exportContent, importBody, json, jsonBody, plainText, revocationBody, tokenBody } from './bodies.ts'
import { oauthReply } from './client-request.ts'
import { configurationHandlers } from './configurations.ts'
import { consoleHandlers, consoleRedirect } from './console.ts'
import { eventHandlers } from './events.ts'
import { exportHandlers } from './export.ts'
import { healthHandlers } from './health.ts'
import { historyHandlers } from './history.ts'
import { importHandlers } from './import.ts'
import { metadataHandlers } from './metadata.ts'
import { metricsHandlers } from './metrics.ts'
import { openApiHandlers } from './openapi.ts'
import {
  eventParameters,
  exportParameters,
  fileInPath,
  historyParameters,
  importParameters,
  listParameters,
  nameInPath,
  preferWait,
  readsParameter,
} from './parameters.ts'
import { sessionHandlers } from './session.ts'
import { guarded, type StateGuard } from './state-guard.ts'
import { tokenHandlers } from './token.ts'
import type { Waiting } from './waiting.ts'

export interface Parts {
  readonly authenticator: Authenticator
  readonly store: ConfigurationStore
  readonly audit: AuditTrail
  readonly histories: RecordHistories
  readonly scheduler: Scheduler
  /** Says how old something is that is kept. */
  readonly clock: Pick<Clock, 'elapsed'>
  /** Prefix of the URLs in answers. */
  readonly basePath: string
  /** As in `metadataHandlers`. */
  readonly publicUrl: string | undefined
  /** Why the service cannot take changes now; undefined when it can. */
  readonly whyNotReady: () => string | undefined
  /** Why it cannot answer reads either; undefined when it can. */
  readonly whyNotReadable: () => string | undefined
  readonly metrics: readonly Family[]
  readonly metricsPublic: boolean
  /** Whether the console is not there; it is if absent. */
  readonly noConsole?: boolean
  readonly waiting: Waiting
  /** Undefined for a state that only this process changes. */
  readonly guard?: StateGuard | undefined
}

type Resources = ReturnType<typeof createResources>

/** A route; the manual's table of calls is made from these. */
export type RouteDescription = Omit<Route, 'handle'> & {
  readonly publicBy?: 'metricsPublic'
  readonly absentBy?: 'noConsole'
  /** Neither records nor accounts; a node that is cut off answers it always. */
  readonly needsNoState?: true
  /** One line of Markdown. */
  readonly summary: string
  /** The statuses with a meaning of their own, and what comes with them; one line of Markdown. */
  readonly answers: string
  /** Its entry in the OpenAPI document. */
  readonly operation: Operation
} & (
    | { readonly isThereAtStart?: false; readonly handler: (resources: Resources) => Handler }
    /** Answers already while the records are being read. */
    | {
        readonly isThereAtStart: true
        readonly handler: (resources: Pick<Resources, 'health' | 'console'>) => Handler
      }
  )

const nameTaken: Answer = {
  description: 'Another record has the name, and is in the body.',
  content: json('OneConfiguration'),
}

const consoleHeaders = ['ETag', 'Vary', 'Content-Encoding?', 'Cross-Origin-Opener-Policy'] as const

/** The whole HTTP interface, but for the way of browsers from the root to the console. */
export const routes: readonly RouteDescription[] = [
  {
    method: 'POST',
    path: '/login',
    access: 'public',
    summary: 'starts a session: `{"username":…,"password":…}` (or `name` for `username`)',
    answers: '200 `Authorized` and a cookie; 401 `Unauthorized`',
    operation: {
      id: 'logIn',
      tag: 'credentials',
      body: jsonBody('Login'),
      answers: {
        200: {
          description: 'The user is logged in.',
          headers: ['Set-Cookie'],
          content: plainText('Authorized'),
        },
        401: {
          description: 'User or password is wrong.',
          headers: ['WWW-Authenticate'],
          content: plainText('Unauthorized'),
        },
      },
      problems: ['too_many_attempts', 'overloaded'],
    },
    handler: ({ session }) => session.logIn,
  },
  {
    method: 'POST',
    path: '/logout',
    // A read-only account must be able to log out; no record changes.
    access: 'read',
    summary: 'ends the session or token that makes the call',
    answers: '200 `Success`',
    operation: {
      id: 'logOut',
      tag: 'credentials',
      notes: 'It stays ended after a restart, and nobody else is logged out.',
      answers: {
        200: {
          description: 'The session or token has ended.',
          headers: ['Set-Cookie?'],
          content: plainText('Success'),
        },
      },
      problems: ['overloaded', 'storage_unavailable', 'storage_full'],
    },
    handler: ({ session }) => session.logOut,
  },
  {
    method: 'POST',
    path: '/v1/auth/token',
    access: 'public',
    summary: 'issues a token: `{"client_id":…,"client_secret":…}`, as JSON, as a form, or by HTTP Basic',
    answers: '200 `{"access_token":…,"token_type":"Bearer","expires_in":3600,"scope":"read write"}`; 401',
    operation: {
      id: 'issueToken',
      tag: 'credentials',
      notes: 'The client credentials grant of OAuth 2.0 (RFC 6749 section 4.4).',
      body: tokenBody,
      answers: { 200: { description: 'A token.', headers: ['Pragma'], content: json('Token') } },
      problems: [
        'invalid_request',
        'invalid_scope',
        'unsupported_grant_type',
        'invalid_client',
        'too_many_attempts',
        'overloaded',
      ],
    },
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
    operation: {
      id: 'revokeToken',
      tag: 'credentials',
      notes: 'RFC 7009. A token that is unknown, of another client or ended already is answered alike.',
      body: revocationBody,
      answers: { 200: { description: 'The token is not valid any more.', headers: ['Pragma'] } },
      problems: [
        'invalid_request',
        'invalid_client',
        'too_many_attempts',
        'overloaded',
        'storage_unavailable',
        'storage_full',
      ],
    },
    handler: ({ token }) => token.revoke,
    problemReply: oauthReply,
  },
  {
    method: 'GET',
    path: '/.well-known/oauth-authorization-server',
    access: 'public',
    needsNoState: true,
    isWellKnown: true,
    summary: 'tells OAuth clients where to get and revoke tokens',
    answers: '200',
    operation: {
      id: 'getAuthorizationServer',
      tag: 'credentials',
      notes: 'RFC 8414. With a base path, it is also at this path followed by the base path.',
      answers: { 200: { description: 'The metadata.', content: json('AuthorizationServer') } },
    },
    handler: ({ metadata }) => metadata.read,
  },
  {
    method: 'GET',
    path: '/v1/whoami',
    access: 'read',
    summary: 'tells whose credential makes the call, what it may do, and when it expires',
    answers: '200 `{"account":…,"kind":"user","scope":"read write","expires_at":…}`',
    operation: {
      id: 'getCaller',
      tag: 'credentials',
      answers: { 200: { description: 'The account and its credential.', content: json('Caller') } },
    },
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
    operation: {
      id: 'changePassword',
      tag: 'credentials',
      body: jsonBody('PasswordChange'),
      answers: {
        200: {
          description: 'The password is changed.',
          headers: ['Set-Cookie'],
          content: plainText('Success'),
        },
      },
      problems: [
        'wrong_password',
        'session_required',
        'too_many_attempts',
        'overloaded',
        'storage_unavailable',
        'storage_full',
      ],
    },
    handler: ({ account }) => account.changePassword,
  },
  {
    method: 'GET',
    path: '/configurations/',
    access: 'read',
    summary:
      'gets all records, those that filters keep, or one page of them; optional: `q`, `prefix`, `name`, `hostname`, `port`, `username`, `label`, `sort`, `page`, `per_page`',
    answers: '200',
    operation: {
      id: 'listConfigurations',
      tag: 'configurations',
      notes: 'A page beyond the end is empty.',
      parameters: [...listParameters, preferWait],
      problems: ['overloaded'],
      isConditional: true,
      answers: {
        200: {
          description: 'The records.',
          headers: ['ETag', 'X-Total-Count', 'Link?', 'Preference-Applied?', 'Vary?'],
          content: json('Configurations'),
        },
      },
    },
    handler: ({ configurations }) => configurations.list,
  },
  {
    method: 'POST',
    path: '/configurations/',
    access: 'write',
    summary: 'adds a record; needs all four fields',
    answers: '200 with `Location`; 409',
    operation: {
      id: 'addConfiguration',
      tag: 'configurations',
      body: jsonBody('NewConfiguration'),
      answers: {
        200: {
          description: 'The record as it was added.',
          headers: ['ETag', 'Location'],
          content: json('OneConfiguration'),
        },
        409: nameTaken,
      },
    },
    handler: ({ configurations }) => configurations.add,
  },
  {
    method: 'GET',
    path: '/configurations/:name',
    access: 'read',
    summary: 'gets one record',
    answers: '200; 404',
    operation: {
      id: 'getConfiguration',
      tag: 'configurations',
      parameters: [nameInPath, preferWait],
      isConditional: true,
      answers: {
        200: {
          description: 'The record.',
          headers: ['ETag', 'Preference-Applied?', 'Vary?'],
          content: json('OneConfiguration'),
        },
      },
      problems: ['unknown_name', 'overloaded'],
    },
    handler: ({ configurations }) => configurations.get,
  },
  {
    method: 'PUT',
    path: '/configurations/:name',
    access: 'write',
    summary: 'adds a record, or replaces all its fields; `name` may be left out',
    answers: '201 with `Location` if it is new; 200',
    operation: {
      id: 'putConfiguration',
      tag: 'configurations',
      notes: 'With `If-None-Match: *` it only adds, with `If-Match` it only replaces.',
      parameters: [nameInPath],
      isConditional: true,
      body: jsonBody('ConfigurationReplacement'),
      answers: {
        200: {
          description: 'The record as it is now; its `id` stays.',
          headers: ['ETag'],
          content: json('OneConfiguration'),
        },
        201: {
          description: 'The record as it was added.',
          headers: ['ETag', 'Location'],
          content: json('OneConfiguration'),
        },
      },
    },
    handler: ({ configurations }) => configurations.put,
  },
  {
    method: 'PATCH',
    path: '/configurations/:name',
    access: 'write',
    summary: 'changes the fields that you send',
    answers: '200; 404, 409',
    operation: {
      id: 'modifyConfiguration',
      tag: 'configurations',
      parameters: [nameInPath],
      isConditional: true,
      body: jsonBody('ConfigurationPatch'),
      answers: {
        200: {
          description: 'The record as it is now; its `id` stays.',
          headers: ['ETag'],
          content: json('OneConfiguration'),
        },
        409: nameTaken,
      },
      problems: ['unknown_name'],
    },
    handler: ({ configurations }) => configurations.modify,
  },
  {
    method: 'DELETE',
    path: '/configurations/:name',
    access: 'write',
    summary: 'deletes a record',
    answers: '209, no body; 404',
    operation: {
      id: 'removeConfiguration',
      tag: 'configurations',
      parameters: [nameInPath],
      isConditional: true,
      answers: { 209: { description: 'Deleted.' } },
      problems: ['unknown_name'],
    },
    handler: ({ configurations }) => configurations.remove,
  },
  {
    method: 'GET',
    path: '/v1/events',
    access: 'read',
    summary:
      'tells changes as they happen; optional: `since`, `prefix`, `name`, `hostname`, `port`, `username`, `label`',
    answers: '200 `text/event-stream`',
    operation: {
      id: 'followChanges',
      tag: 'configurations',
      notes:
        'Events `added`, `modified` and `removed`, each with one line of JSON as its data: `configuration`, and for `modified` also `before`. The `id` is the `ETag` of the list after it, without the quotes. After an event `reset`, read the list again.',
      parameters: eventParameters,
      answers: {
        200: {
          description: 'The stream, which goes on until the credential ends.',
          headers: ['X-Accel-Buffering'],
          content: { 'text/event-stream': { type: 'string' } },
        },
      },
      problems: ['overloaded'],
    },
    handler: ({ events }) => events.follow,
  },
  {
    method: 'GET',
    path: '/v1/history/:name',
    access: 'read',
    summary: 'tells the changes of one record, newest first, also of one that is gone; optional: `limit`',
    answers: '200 `{"history":[…],"since":…}`; 404',
    operation: {
      id: 'getHistory',
      tag: 'configurations',
      notes:
        'Of the record that has the name, or else of the last one that had it; across renames. Comes from the audit trail.',
      parameters: historyParameters,
      isConditional: true,
      answers: {
        200: { description: 'The changes.', headers: ['ETag'], content: json('History') },
      },
      problems: ['unknown_name', 'overloaded', 'trail_unavailable'],
    },
    handler: ({ histories }) => histories.read,
  },
  {
    method: 'GET',
    path: '/v1/export',
    access: 'read',
    summary: 'gets all records in the format of another tool; needs `format`; optional: `skip`',
    answers: '200; 422',
    operation: {
      id: 'exportConfigurations',
      tag: 'exchange',
      parameters: exportParameters,
      answers: {
        200: {
          description: 'The records in the format.',
          headers: ['Content-Disposition', 'X-Total-Count', 'X-Left-Out'],
          content: exportContent,
        },
      },
      problems: ['not_expressible'],
    },
    handler: ({ exports }) => exports.exportAll,
  },
  {
    method: 'POST',
    path: '/v1/import',
    access: 'write',
    summary: 'adds, changes and removes many records at once; optional: `mode`, `format`, `dry_run`',
    answers: '200 with `ETag`; 400 with the line of each fault; 412',
    operation: {
      id: 'importConfigurations',
      tag: 'exchange',
      notes:
        'All changes are made together, or none. With the tag of a dry run, or of the list, in `If-Match`, they are made only if no record has changed since.',
      parameters: importParameters,
      isConditional: true,
      body: importBody,
      answers: {
        200: {
          description:
            'What has changed, or would change. The tag is that of the list after it, or of the list now.',
          headers: ['ETag'],
          content: json('ImportResult', 'ImportTrial'),
        },
      },
      problems: ['too_many_changes'],
    },
    handler: ({ imports }) => imports.importAll,
  },
  {
    method: 'GET',
    path: '/healthz',
    access: 'public',
    isThereAtStart: true,
    summary: 'says that the process is alive',
    answers: '200',
    operation: {
      id: 'getHealth',
      tag: 'operation',
      answers: { 200: { description: 'It is alive.', content: json('Health') } },
    },
    handler: ({ health }) => health.healthz,
  },
  {
    method: 'GET',
    path: '/readyz',
    access: 'public',
    isThereAtStart: true,
    summary: 'says whether connbook accepts changes; optional: `reads`',
    answers: '200; 503',
    operation: {
      id: 'getReadiness',
      tag: 'operation',
      parameters: [readsParameter],
      answers: { 200: { description: 'It accepts changes, or answers reads.', content: json('Health') } },
      problems: ['not_ready'],
    },
    handler: ({ health }) => health.readyz,
  },
  {
    method: 'GET',
    path: '/metrics',
    access: 'read',
    needsNoState: true,
    publicBy: 'metricsPublic',
    summary: 'gets the metrics, in the text format of Prometheus',
    answers: '200',
    operation: {
      id: 'getMetrics',
      tag: 'operation',
      answers: { 200: { description: 'The metrics.', content: plainText() } },
    },
    handler: ({ metrics }) => metrics.read,
  },
  {
    method: 'GET',
    path: '/openapi.json',
    access: 'read',
    needsNoState: true,
    summary: 'describes all calls, as an OpenAPI document',
    answers: '200',
    operation: {
      id: 'describeCalls',
      tag: 'operation',
      isConditional: true,
      answers: {
        200: {
          description: 'The document.',
          headers: ['ETag'],
          content: { 'application/json': { type: 'object' } },
        },
      },
    },
    handler: ({ openApi }) => openApi.read,
  },
  {
    method: 'GET',
    path: '/console/',
    access: 'public',
    absentBy: 'noConsole',
    isThereAtStart: true,
    summary: 'gets the console, a page for browsers',
    answers: '200 `text/html`; 308 without the slash',
    operation: {
      id: 'getConsole',
      tag: 'operation',
      notes: 'Absent with `--no-console`. The page holds no records: it is one more client of these calls.',
      isConditional: true,
      answers: {
        200: {
          description: 'The page.',
          headers: consoleHeaders,
          content: { 'text/html': { type: 'string' } },
        },
        308: { description: 'The path needs a slash at its end.', headers: ['Location'] },
      },
    },
    handler: ({ console }) => console.readPage,
  },
  {
    method: 'GET',
    path: '/console/:file',
    access: 'public',
    absentBy: 'noConsole',
    isThereAtStart: true,
    summary: 'gets the script or the style of the console, by the name that the page has for it',
    answers: '200; 404',
    operation: {
      id: 'getConsoleFile',
      tag: 'operation',
      parameters: [fileInPath],
      isConditional: true,
      answers: {
        200: {
          description: 'The file.',
          headers: consoleHeaders,
          content: { 'text/javascript': { type: 'string' }, 'text/css': { type: 'string' } },
        },
      },
      problems: ['unknown_path'],
    },
    handler: ({ console }) => console.readFile,
  },
]

export interface RouteSets {
  /** Under the base path. */
  readonly all: readonly Route[]
  /** Of the owner's socket, where URLs have no base path, and nobody needs a console; all else is shared. */
  readonly owner: readonly Route[]
  /** Answers some requests for which `all` has no route. */
  readonly redirect: Redirect | undefined
}

/** The options of a server that say which routes there are, and for whom. */
type Opening = Pick<Parts, 'metricsPublic' | 'noConsole'>

export function createRoutes(parts: Parts): RouteSets {
  const resources = createResources(parts)
  const { guard } = parts
  const handlerOf = (route: RouteDescription, some: Resources) => {
    const handle = route.handler(some)
    return guard === undefined || route.isThereAtStart || route.needsNoState ? handle : guarded(handle, guard)
  }
  const handledBy = (some: Resources, opening: Opening): Route[] =>
    routesOf(opening).map((route) => ({ ...route, handle: handlerOf(route, some) }))
  const ofOwner = { ...parts, basePath: '', noConsole: true }
  const configurations = configurationHandlers(parts.store, '', parts.scheduler, parts.waiting.polls)
  const metadata = metadataHandlers(parts.publicUrl, '')
  const openApi = openApiHandlers(() => describeRoutes(ofOwner))
  return {
    all: handledBy(resources, parts),
    owner: handledBy({ ...resources, configurations, metadata, openApi }, ofOwner),
    redirect: redirectOf(parts),
  }
}

/** The OpenAPI document of a server: a line of JSON. */
export function describeRoutes({ basePath, ...opening }: Opening & Pick<Parts, 'basePath'>): string {
  return `${JSON.stringify(describeApi(routesOf(opening), basePath))}\n`
}

/** The routes of a server with these options, with the access that they give. */
function routesOf(opening: Opening): RouteDescription[] {
  return routes.flatMap((route) => {
    if (route.absentBy !== undefined && opening[route.absentBy]) return []
    const isPublic = route.publicBy !== undefined && opening[route.publicBy]
    return [isPublic ? { ...route, access: 'public' } : route]
  })
}

function redirectOf({ basePath, noConsole }: Pick<Parts, 'basePath' | 'noConsole'>): Redirect | undefined {
  return noConsole ? undefined : consoleRedirect(basePath)
}

/** The routes for the time while the records are being read. */
export function createStartingRoutes(
  parts: Pick<Parts, 'whyNotReady' | 'basePath' | 'noConsole'>,
): RouteSets {
  const { whyNotReady } = parts
  const resources = {
    health: healthHandlers(whyNotReady, whyNotReady),
    console: consoleHandlers(parts.basePath),
  }
  const thereAtStart = (noConsole: boolean | undefined): Route[] =>
    routesOf({ metricsPublic: false, noConsole: noConsole === true }).flatMap((route) =>
      route.isThereAtStart ? [{ ...route, handle: route.handler(resources) }] : [],
    )
  return { all: thereAtStart(parts.noConsole), owner: thereAtStart(true), redirect: redirectOf(parts) }
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
    histories: historyHandlers(store, parts.histories, scheduler),
    exports: exportHandlers(store, scheduler),
    imports: importHandlers(store, audit),
    health: healthHandlers(whyNotReady, parts.whyNotReadable),
    metrics: metricsHandlers(metrics, scheduler, parts.clock),
    openApi: openApiHandlers(() => describeRoutes(parts)),
    console: consoleHandlers(basePath),
  }
}
