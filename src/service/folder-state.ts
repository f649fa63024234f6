import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Accounts } from '../auth/accounts.ts'
import { accountsDocument, accountsMissing } from '../auth/accounts-file.ts'
import type { Clock } from '../auth/clock.ts'
import type { CredentialStorage } from '../auth/credential-storage.ts'
import type { Revocations } from '../auth/ended-credentials.ts'
import { folderCredentials, folderKeys } from '../auth/folder-credentials.ts'
import { openRevocations } from '../auth/folder-revocations.ts'
import type { InitialCredentials } from '../auth/initial-credentials.ts'
import { prepareKeys, secondsOf } from '../auth/key-rotation.ts'
import type { StoredKey } from '../auth/keys.ts'
import { checkRevocations } from '../auth/revocations-file.ts'
import type { DataFolder } from '../files/owned-folder.ts'
import type { Log } from '../log.ts'
import type { StateGuard } from '../resources/state-guard.ts'
import type { Scheduler } from '../scheduler.ts'
import { checkNoNode } from '../state/node-folder.ts'
import { checkNeverStarted } from '../state/used-folder.ts'
import { openConfigurationStore } from '../storage/file/file-storage.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import {
  createFirstAccounts,
  type FirstStartValues,
  givenVariables,
  readFirstStartValues,
} from './first-start.ts'

/**
 * Reads the state that a data folder keeps; a first start makes what is missing.
 *
 * @throws {UsageError} {FolderRefusedError} {DamagedFileError}
 */
export async function openFolderState(parts: StateParts): Promise<OpenedState> {
  const { folder, environment, signal } = parts
  const known = await readAccounts(folder)
  return openKnownState(parts, known, async () =>
    known === undefined || known.isPrepared
      ? { values: await readFirstStartValues(environment, signal) }
      : { accounts: known, madeUp: undefined, ignored: givenVariables(environment) },
  )
}

/**
 * Reads the state of a folder for a command. The first start is left to a server.
 *
 * @throws {FolderRefusedError} {DamagedFileError}
 */
export async function openStateForCommand(parts: StateParts): Promise<OpenedState> {
  const known = await readAccounts(parts.folder)
  return openKnownState(parts, known, async () => {
    if (known === undefined) throw accountsMissing(parts.folder)
    return { accounts: known, madeUp: undefined, ignored: [] }
  })
}

async function readAccounts(folder: DataFolder): Promise<Accounts | undefined> {
  await checkNoNode(folder)
  return accountsDocument(folder).read()
}

type KnownAccounts = Pick<OpenedState, 'accounts' | 'madeUp' | 'ignored'>

/** @param readFirst What is known of the accounts, or what is to make them. */
async function openKnownState(
  parts: StateParts,
  known: Accounts | undefined,
  readFirst: () => Promise<
    (KnownAccounts & { readonly values?: never }) | { readonly values: FirstStartValues }
  >,
): Promise<OpenedState> {
  const { folder, audit, log, scheduler, ttlSeconds, makeClock, opened } = parts
  const { isReadOnly = false } = parts
  const mustExist = known !== undefined
  const storedKeys = folderKeys(folder, mustExist)
  const revocationsMustExist = (await storedKeys.read()).length > 0
  // Everything is read before anything is changed, so that a refused folder stays as it was.
  await checkRevocations(folder, revocationsMustExist, isReadOnly ? 'r' : 'r+')
  if (known === undefined) await checkNeverStarted(folder)
  const before = await readFirst()
  const store = await openConfigurationStore(folder, {
    ...{ mustExist, log, trail: audit, scheduler, isReadOnly },
  })
  opened.defer(() => store.close())
  const revocations = await openRevocations(folder, {
    mustExist: revocationsMustExist,
    log,
    isReadOnly,
    isServed: ttlSeconds !== undefined,
    ...(makeClock ? { makeClock } : {}),
  })
  opened.defer(() => revocations.close())
  // After the revocations: even after a crash, a folder with keys has revocations.
  const keys = await prepareKeys(storedKeys, ttlSeconds, secondsOf(revocations.clock.now()))
  const first = before.values === undefined ? before : await createFirstAccounts(folder, before.values)
  return {
    ...first,
    store,
    cookieId: store.id,
    revocations,
    keys,
    credentials: folderCredentials(folder, first.accounts, storedKeys),
    listedAfter: undefined,
    whyNotWritable: () =>
      store.isWritable && revocations.isWritable ? undefined : 'The disk failed, and changes are refused',
    guard: undefined,
    failed: new Promise(() => {}),
  }
}

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
  /** Longest lifetime of a session or token; undefined if this process gives none. */
  readonly ttlSeconds: number | undefined
  /** Whether nothing can be written to the folder, and no change is made; it is not owned then. */
  readonly isReadOnly?: boolean
  readonly makeClock: ((notBefore: number) => Clock) | undefined
  /** Aborted when the start is to be given up. */
  readonly signal: AbortSignal | undefined
  /** Gets what must be closed when the service stops, or cannot start. */
  readonly opened: AsyncDisposableStack
}
