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
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { printableJson } from '../json.ts'
import { LOST_CHANGES_LISTED_MAX } from '../limits.ts'
import {
  type FirstRecords,
  type RevisionRange,
  type SalvagedRecords,
  salvageStore,
} from '../storage/file/file-storage.ts'
import type { Finding } from '../storage/finding.ts'
import { counted } from '../text.ts'
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
  return {
    damaged,
    salvaged,
    lost,
    records: { records, count: records.length, revision: lost.revision, lastId },
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

/** The highest id that the audit trail names or, where nothing shows its store, leaves possible. */
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

/** What a recovery keeps and what it loses, one line each. */
export function describeRecovery(recovery: Recovery): string[] {
  const { records, accounts } = recovery
  const losses = describeLosses(recovery)
  return [
    `Can be salvaged: ${counted(records.count, 'record')}; the next id is ${records.lastId + 1}`,
    accounts === undefined
      ? 'The accounts cannot be read: there will be a new user and a new client, as after a first start'
      : `Can be salvaged: ${countAccounts(accounts.accounts)}`,
    ...(losses.length === 0 ? ['No change of a record is known to be lost'] : losses),
    ...describeDoubts(recovery),
    'Every session and token will end; the old files are kept aside',
  ]
}

/** "2 accounts". */
export function countAccounts({
  users,
  clients,
}: {
  users: readonly unknown[]
  clients: readonly unknown[]
}) {
  return counted(users.length + clients.length, 'account')
}

/** How many changes no file holds. */
export function countLostChanges({ salvaged, lost }: Recovery): number {
  const missing = salvaged.missing.reduce((sum, { first, last }) => sum + last - first + 1, 0)
  return missing + lost.revision - salvaged.revision
}

function describeLosses({ salvaged, lost }: Recovery): string[] {
  const { missing, unreadable, misfits, displaced, foreign, revision } = salvaged
  const losses: string[] = []
  if (missing.length > 0) losses.push(`Lost: the changes of ${describeRanges(missing)}`)
  if (unreadable === undefined) losses.push('Lost: an unknown number of records of snapshot.json')
  else if (unreadable > 0) losses.push(`Lost: ${counted(unreadable, 'record')} of snapshot.json`)
  if (misfits > 0)
    losses.push(
      `Left out: ${counted(misfits, 'change')} that cannot be read, or that no longer has its record`,
    )
  for (const { id, name } of displaced.slice(0, LOST_CHANGES_LISTED_MAX))
    losses.push(`Left out: record ${id}, because another record has its name ${printableJson(name)}`)
  losses.push(...describeMore(displaced.length))
  for (const name of foreign) losses.push(`Left out: ${name}, because it belongs to another store`)
  if (lost.revision > revision) {
    const range = describeRanges([{ first: revision + 1, last: lost.revision }])
    losses.push(`Lost: the changes of ${range}, which only the audit trail names`)
    for (const change of lost.changes)
      losses.push(`  ${change.revision}: ${change.kind} record ${change.id} ${printableJson(change.name)}`)
    losses.push(...describeMore(lost.count))
  }
  return losses
}

/** What cannot be known. */
function describeDoubts({ damaged, salvaged, lost }: Recovery): string[] {
  const { store, revision, isUnverified } = salvaged
  const doubts: string[] = []
  const isCut = damaged.some(({ name }) => name === dataFiles.journal) && lost.revision === revision
  if (isUnverified)
    doubts.push('No checksum covers the records of snapshot.json: look through them, a value may be wrong')
  if (store === undefined)
    doubts.push(
      'Unknown: whether more is lost. No file tells the id by which the audit trail names the changes',
    )
  else if (isCut) doubts.push('Unknown: whether changes at the end of journal.jsonl are lost')
  return doubts
}

/** "the revisions 3 to 5, 9". */
function describeRanges(ranges: readonly RevisionRange[]): string {
  const listed = ranges
    .slice(0, LOST_CHANGES_LISTED_MAX)
    .map(({ first, last }) => (first === last ? `${first}` : `${first} to ${last}`))
  const [only] = ranges
  const noun = ranges.length === 1 && only?.first === only?.last ? 'revision' : 'the revisions'
  const more = ranges.length - listed.length
  return `${noun} ${listed.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function describeMore(count: number): string[] {
  const more = count - LOST_CHANGES_LISTED_MAX
  return more > 0 ? [`  and ${more} more`] : []
}
