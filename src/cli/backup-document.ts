import { type Accounts, parseAccounts } from '../auth/accounts.ts'
import { DamagedFileError } from '../errors.ts'
import type { FileSystem } from '../files/file-system.ts'
import type { Configuration } from '../store/configuration.ts'
import { ConfigurationIndex } from '../store/configuration-index.ts'
import { readRecordDocument, type StateHeader, writeRecordDocument } from '../store/record-document.ts'
import { counted } from '../text.ts'

/** Everything that is worth keeping of a data folder; signing keys are not, so a backup opens no session. */
export interface Backup extends StateHeader {
  /** RFC 3339, in UTC. */
  readonly createdAt: string
  readonly accounts: Accounts
  /** By rising id. */
  readonly records: Iterable<Configuration>
}

const backupKind = { format: 'connbook backup', version: 1, advice: 'use another backup' }

/** How every backup begins. */
export const BACKUP_START = `{"format":"${backupKind.format}",`

/** "3 records and 2 accounts". */
export function describeBackup({ count, accounts }: Backup): string {
  return `${counted(count, 'record')} and ${counted(accounts.users.length + accounts.clients.length, 'account')}`
}

/** @param write Resolves when more may be written. */
export function writeBackup(
  { records, createdAt, accounts, ...header }: Backup,
  write: (text: string) => Promise<void>,
): Promise<void> {
  return writeRecordDocument(backupKind, header, { createdAt, accounts }, records, write)
}

/**
 * Reads a backup as a whole.
 *
 * @throws {DamagedFileError} when it is not what was written.
 */
export async function readBackup(path: string, files: FileSystem): Promise<Backup> {
  // Opening a pipe would wait for a writer.
  if (!(await files.stat(path)).isFile())
    throw new DamagedFileError(path, 0, 'it is not a plain file', backupKind.advice)
  const file = await files.open(path, 'r')
  try {
    const records: Configuration[] = []
    let jsonBytes = 0
    const { members, store, revision, lastId, count } = await readRecordDocument(
      backupKind,
      path,
      file,
      (record, bytes) => {
        records.push(record)
        jsonBytes += bytes
      },
    )
    try {
      new ConfigurationIndex().load(records, jsonBytes, revision, lastId)
      const createdAt = String(members.createdAt)
      return { store, revision, lastId, count, createdAt, accounts: parseAccounts(members.accounts), records }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new DamagedFileError(path, 0, reason, backupKind.advice, { cause: error })
    }
  } finally {
    await file.close()
  }
}
