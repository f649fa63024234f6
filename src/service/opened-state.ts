import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Accounts } from '../auth/accounts.ts'
import type { Clock } from '../auth/clock.ts'
import type { CredentialStorage } from '../auth/credential-storage.ts'
import type { InitialCredentials } from '../auth/initial-credentials.ts'
import type { StoredKey } from '../auth/keys.ts'
import type { Revocations } from '../auth/revocations.ts'
import type { DataFolder } from '../files/data-folder.ts'
import type { Log } from '../log.ts'
import type { StateGuard } from '../resources/state-guard.ts'
import type { Scheduler } from '../scheduler.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'

/** What is read at a start, wherever it is kept: records, accounts, keys and revocations. */
export interface OpenedState {
  readonly store: ConfigurationStore
  /** Names the session cookie: the same after a restart and on each node of a cluster, another one after a restore. */
  readonly cookieId: string
  readonly revocations: Revocations
  readonly credentials: CredentialStorage
  /** As they are now. */
  readonly accounts: Accounts
  readonly keys: readonly StoredKey[]
  /** The credentials that this first start made up; undefined for a later start. */
  readonly madeUp: InitialCredentials | undefined
  /** Variables for a first start that had no effect. */
  readonly ignored: readonly string[]
  /** Revision after which the audit trail is known to list every change, where revisions may stand for none. */
  readonly listedAfter: number | undefined
  /** Why changes are refused; undefined while they are not. */
  whyNotWritable(): string | undefined
  /** Undefined if only this process changes the state. */
  readonly guard: StateGuard | undefined
  /** Resolves, if ever, when this process must not go on. */
  readonly failed: Promise<Error>
}

/** What a state is opened with. */
export interface StateParts {
  readonly folder: DataFolder
  readonly environment: NodeJS.ProcessEnv
  readonly audit: AuditTrail
  readonly log: Log
  readonly scheduler: Scheduler
  /** Longest lifetime of a session or token. */
  readonly ttlSeconds: number
  readonly makeClock: ((notBefore: number) => Clock) | undefined
  /** Takes up credentials that a command has just changed; undefined if there are none. Never rejects. */
  catchUpCredentials(): Promise<void> | undefined
  /** Aborted when the start is to be given up. */
  readonly signal: AbortSignal | undefined
  /** Gets what must be closed when the service stops, or cannot start. */
  readonly opened: AsyncDisposableStack
}
