import type { Accounts } from '../auth/accounts.ts'
import { parseAccounts } from '../auth/accounts-file.ts'
import { ConnbookError, inFile, systemCode, UsageError } from '../errors.ts'
import { readStart } from '../files/atomic-file.ts'
import type { FileSystem, OpenFile } from '../files/file-system.ts'
import { quoteForShell } from '../shell.ts'
import { loadRecordDocument, type StateHeader, writeRecordDocument } from '../storage/record-document.ts'
import type { Configuration } from '../store/configuration.ts'
import { ConfigurationIndex } from '../store/configuration-index.ts'
import { counted } from '../text.ts'

/** What a backup keeps of a data folder: not the signing keys, so that it cannot be used to forge sessions. */
export interface Backup extends StateHeader {
  /** RFC 3339, in UTC. */
  readonly createdAt: string
  readonly accounts: Accounts
  /** By rising id. */
  readonly records: Iterable<Configuration>
}

const backupKind = {
  format: 'connbook backup',
  version: 1,
  members: ['createdAt', 'accounts'],
  advice: 'use another backup',
}

export class BackupUnreadableError extends ConnbookError {
  readonly code = 'backup_unreadable'
}

/** RFC 1952, section 2.3.1. */
const GZIP_START = Buffer.from([0x1f, 0x8b])

/** How every backup begins. */
export const BACKUP_START = `{"format":"${backupKind.format}",`

/** "3 records and 2 accounts". */
export function describeBackup({ count, accounts }: Backup): string {
  return `${counted(count, 'record')} and ${counted(accounts.users.length + accounts.clients.length, 'account')}`
}

/** @param write Must resolve when more may be written. */
export function writeBackup(
  { records, createdAt, accounts, ...header }: Backup,
  write: (text: string) => Promise<void>,
): Promise<void> {
  return writeRecordDocument(backupKind, header, { createdAt, accounts }, records, write)
}

/**
 * Reads a whole backup into memory.
 *
 * @throws {UsageError} if it is compressed, or not a plain file.
 * @throws {BackupUnreadableError} if it cannot be opened. @throws {DamagedFileError} if it is not what was written.
 */
export async function readBackup(path: string, files: FileSystem): Promise<Backup> {
  const file = await openPlainFile(path, files)
  try {
    const start = Buffer.alloc(GZIP_START.length)
    await readStart(file, start)
    if (start.equals(GZIP_START)) {
      const advice = `run first: gunzip ${quoteForShell(path)}`
      throw new UsageError(`Cannot read backup "${path}": it is compressed; ${advice}`)
    }
    const index = new ConfigurationIndex()
    const { members, store, revision, lastId, count } = await loadRecordDocument(
      backupKind,
      path,
      file,
      index,
    )
    try {
      const accounts = parseAccounts(members.accounts)
      const createdAt = String(members.createdAt)
      return { store, revision, lastId, count, createdAt, accounts, records: index.slice(0, count) }
    } catch (error) {
      throw inFile(path, 0, error, backupKind.advice)
    }
  } finally {
    await file.close()
  }
}

/** Plain, because opening a pipe would wait for a writer. */
async function openPlainFile(path: string, files: FileSystem): Promise<OpenFile> {
  try {
    const found = await files.stat(path)
    if (found.isFile()) return await files.open(path, 'r')
    const advice = found.isDirectory() ? 'a folder is named with --data' : 'name a plain file'
    throw new UsageError(`Cannot read backup "${path}": it is not a plain file; ${advice}`)
  } catch (error) {
    const code = systemCode(error)
    if (error instanceof ConnbookError || code === undefined) throw error
    const message = `Cannot read backup "${path}" (${code}); name a file that this account can read`
    throw new BackupUnreadableError(message, { cause: error })
  }
}
