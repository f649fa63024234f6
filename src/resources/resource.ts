import type { RecordHistories } from '../audit/record-history.ts'
import type { AccountAdministration } from '../auth/account-administration.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import type { Clock } from '../auth/clock.ts'
import type { KeyAdministration } from '../auth/key-administration.ts'
import type { Handler, Route } from '../http/router.ts'
import type { Family } from '../metrics/family.ts'
import type { RecentFigures } from '../metrics/recent-figures.ts'
import type { Operation } from '../openapi/operation.ts'
import type { Scheduler } from '../scheduler.ts'
import type { ServedBackups } from '../state/served-backups.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import type { Subscriptions } from './subscriptions.ts'
import type { UnchangedCalls } from './unchanged-calls.ts'

/** What handlers get while the records are being read. */
export interface StartingParts {
  /** Prefix of the URLs in answers. */
  readonly basePath: string
  /** Why the service cannot take changes now; undefined when it can. */
  readonly whyNotReady: () => string | undefined
  /** Why it cannot answer reads either; undefined when it can. */
  readonly whyNotReadable: () => string | undefined
}

/** What handlers get. */
export interface Parts extends StartingParts {
  readonly authenticator: Authenticator
  readonly administration: AccountAdministration
  readonly keyAdministration: KeyAdministration
  readonly backups: ServedBackups
  readonly store: ConfigurationStore
  readonly unchanged: UnchangedCalls
  readonly histories: RecordHistories
  readonly scheduler: Scheduler
  /** Says how old something is that is kept. */
  readonly clock: Pick<Clock, 'elapsed'>
  /** As in `metadataHandlers`. */
  readonly publicUrl: string | undefined
  readonly metrics: readonly Family[]
  readonly recent: Pick<RecentFigures, 'moments' | 'valueOf'>
  /** Room on the disk of the data folder; undefined if it cannot be found out. */
  readonly freeBytes: () => Promise<number | undefined>
  readonly subscriptions: Subscriptions
  /** The OpenAPI document: a line of JSON. */
  readonly describeCalls: () => string
}

interface RouteEntry<HandlerName> extends Omit<Route, 'handle'> {
  readonly publicBy?: 'metricsPublic'
  readonly absentBy?: 'noConsole'
  /** Answers already while the records are being read. */
  readonly isThereAtStart?: true
  /** Neither records nor accounts; a node that is cut off answers it always. */
  readonly needsNoState?: true
  readonly handler: HandlerName
}

/** A route for commands alone. */
export interface OwnerRoute<HandlerName = string> extends RouteEntry<HandlerName> {
  readonly access: 'owner'
}

/** A route for everybody; the manual's table of calls and the OpenAPI document are made from these. */
export interface RouteDescription<HandlerName = string> extends RouteEntry<HandlerName> {
  readonly access: Exclude<Route['access'], 'owner'>
  /** One line of Markdown. */
  readonly summary: string
  /** The statuses with a meaning of their own, and what comes with them; one line of Markdown. */
  readonly answers: string
  /** Its entry in the OpenAPI document. */
  readonly operation: Operation
}

/** A resource: its routes, and how their handlers are made. */
export interface Resource<Needs = Parts> {
  readonly routes: readonly (RouteDescription | OwnerRoute)[]
  readonly handlers: (parts: Needs) => Readonly<Record<string, Handler>>
  /** Whether the handlers of the owner's socket are others, because answers have URLs. */
  readonly dependsOnBasePath?: boolean
}

/** Checks that each route names a handler. @returns The resource. */
export function defineResource<Handlers extends Record<string, Handler>, Needs = Parts>(
  resource: Omit<Resource<Needs>, 'routes' | 'handlers'> & {
    readonly handlers: (parts: Needs) => Handlers
    readonly routes: readonly (
      | RouteDescription<keyof Handlers & string>
      | OwnerRoute<keyof Handlers & string>
    )[]
  },
): Resource<Needs> {
  return resource
}
