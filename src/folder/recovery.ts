import {
  findHighestId,
  findHighestRevision,
  listChangesAfter,
  type NamedChanges,
} from '../audit/trail-reader.ts'
import type { Accounts } from '../auth/accounts.ts'
import { accountsDocument } from '../auth/accounts-file.ts'
import { findInitialCredentials, type InitialCredentials } from '../auth/initial-credentials.ts'
import { ConnbookError, DamagedFileError, systemCode } from '../errors.ts'
import type { DataPaths } from '../files/data-folder.ts'
import { type FirstRecords, type SalvagedRecords, salvageStore } from '../storage/file/file-storage.ts'
import type { Finding } from '../storage/finding.ts'
import { examineFolder } from './examination.ts'
import { replaceState } from './restore.ts'

/** A file was written by a newer connbook, whose data a recovery would drop. */
export class NewerFolderError extends ConnbookError {
  readonly code = 'newer_folder'
}

/** What can be kept of a damaged folder. */
export interface Recovery {
  /** The damaged files. */
  readonly damaged: readonly Finding[]
  readonly salvaged: SalvagedRecords
  /** Changes that the audit trail names, and that no file holds. */
  readonly lost: NamedChanges
  /** What the folder would hold; its next id is above every id that may have been given. */
  readonly records: FirstRecords
  /** Undefined when they cannot be read. */
  readonly accounts: RecoveredAccounts | undefined
}

export interface RecoveredAccounts {
  readonly accounts: Accounts
  /** Their generated secrets that are still kept in plain text. */
  readonly madeUp: InitialCredentials
}

/**
 * Finds out what can be kept of a folder, and changes nothing.
 *
 * @param folder Owned by this process.
 * @returns undefined when the folder is sound.
 * @throws {NewerFolderError} {DamagedFileError} if a newer connbook wrote a file, with advice.
 */
export async function findRecovery(folder: DataPaths): Promise<Recovery | undefined> {
  const { findings } = await examineFolder(folder)
  const damaged = findings.filter(({ isDamage }) => isDamage)
  const newer = damaged.find(({ isNewer }) => isNewer)
  if (newer !== undefined) throw new NewerFolderError(newer.words)

  const salvaged = await salvageStore(folder)
  const { store, revision } = salvaged
  const lost =
    store === undefined
      ? { changes: [], count: 0, revision }
      : await listChangesAfter(folder, store, revision)
  if (damaged.length === 0 && lost.revision === revision) return undefined
  // Each change that is lost may have been an addition.
  const lastId = Math.max(salvaged.lastId + lost.revision - revision, await findTrailId(folder, store))
  const { records } = salvaged
  const hasLabels = records.some(({ labels }) => labels !== undefined)
  return {
    damaged,
    salvaged,
    lost,
    records: { records, count: records.length, hasLabels, revision: lost.revision, lastId },
    accounts: await findAccounts(folder),
  }
}

/**
 * Replaces the content of a folder by what can be kept of it, with a new store id and new keys.
 *
 * @param accounts Those of the recovery, or new ones if it has none.
 * @returns The folder that keeps the old files.
 * @throws {RestoreFailedError} if nothing has changed. @throws {RestoreIncompleteError}
 */
export function recoverState(
  folder: DataPaths,
  { records }: Recovery,
  { accounts, madeUp }: RecoveredAccounts,
): Promise<string | undefined> {
  return replaceState(folder, { ...records, accounts }, madeUp, 'recover')
}

/** The highest id that the audit trail names or, where nothing tells its store, leaves possible. */
async function findTrailId(folder: DataPaths, store: string | undefined): Promise<number> {
  const named = await findHighestId(folder)
  // A large import names no ids, but each of its changes may have given one.
  return store === undefined ? named + (await findHighestRevision(folder)) : named
}

async function findAccounts(folder: DataPaths): Promise<RecoveredAccounts | undefined> {
  try {
    const accounts = await accountsDocument(folder).read()
    return accounts && { accounts, madeUp: (await findInitialCredentials(folder)) ?? {} }
  } catch (error) {
    if (error instanceof DamagedFileError || systemCode(error) === 'EIO') return undefined
    throw error
  }
}
