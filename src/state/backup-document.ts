import type { Readable } from 'node:stream'
import type { Accounts } from '../auth/accounts.ts'
import { parseAccounts } from '../auth/accounts-file.ts'
import { DamagedFileError, inFile } from '../errors.ts'
import type { FileSystem } from '../files/file-system.ts'
import { createSequentialFile, InputDamagedError, isStandardInput, readInputBytes } from '../files/input.ts'
import { loadRecordDocument, recordDocument, type StateHeader } from '../storage/record-document.ts'
import type { Configuration } from '../store/configuration.ts'
import { ConfigurationIndex } from '../store/configuration-index.ts'
import { counted } from '../text.ts'
import { isKeptEntry, type KeptEntry } from './kept-history.ts'

/** What a backup keeps of a data folder: not the signing keys, so that it cannot be used to forge sessions. */
export interface Backup extends StateHeader {
  /** RFC 3339, in UTC. */
  readonly createdAt: string
  readonly accounts: Accounts
  /** By rising id. */
  readonly records: Iterable<Configuration>
  /** By rising revision; undefined if it was not taken along. */
  readonly history?: readonly KeptEntry[]
}

/** Version 3 has no history, version 2 neither admins nor grants, version 1 no labels. */
const backupKind = {
  format: 'connbook backup',
  version: 4,
  members: ['createdAt', 'accounts'],
  advice: 'use another backup',
}

/** How every backup begins. */
export const BACKUP_START = `{"format":"${backupKind.format}",`

/** "3 records and 2 accounts, with a history of 9 changes". */
export function describeBackup({ count, accounts, history }: Backup): string {
  const held = `${counted(count, 'record')} and ${counted(accounts.users.length + accounts.clients.length, 'account')}`
  return history === undefined ? held : `${held}, with a history of ${counted(history.length, 'change')}`
}

/** The document of a backup, in pieces. @param pieceCharacters As `sliceCharacters` of `recordDocument`. */
export function backupPieces(
  { records, createdAt, accounts, history, ...header }: Backup,
  pieceCharacters?: number,
): Generator<string> {
  const appendix = history?.values().map((entry) => JSON.stringify(entry))
  return recordDocument(backupKind, header, { createdAt, accounts }, records, appendix, pieceCharacters)
}

/** @param write Must resolve when more may be written. */
export async function writeBackup(backup: Backup, write: (text: string) => Promise<void>): Promise<void> {
  for (const piece of backupPieces(backup)) await write(piece)
}

/**
 * Reads a whole backup into memory, and unpacks it if it is gzip.
 *
 * @param source A path, or `-` for standard input.
 * @throws {UsageError} if it is a folder.
 * @throws {InputUnreadableError} if it cannot be read. @throws {DamagedFileError} if it is not what was written.
 */
export async function readBackup(
  source: string,
  files: FileSystem,
  context?: { readonly input: Readable },
): Promise<Backup> {
  const path = isStandardInput(source) ? 'standard input' : source
  const what = path === source ? `backup "${path}"` : path
  const ifFolder = 'it is not a plain file; a folder is named with --data'
  const file = createSequentialFile(readInputBytes({ source, what, context, files, ifFolder }))
  try {
    const index = new ConfigurationIndex()
    const more: unknown[] = []
    const { members, store, revision, lastId, count } = await loadRecordDocument(
      backupKind,
      path,
      file,
      index,
      (line) => more.push(line),
    )
    try {
      const accounts = parseAccounts(members.accounts)
      const createdAt = String(members.createdAt)
      const records = index.slice(0, count)
      // With a history, even an empty one, the document has a last line behind its records.
      const history = more.length > 0 ? { history: more.filter(isKeptEntry) } : {}
      return { store, revision, lastId, count, createdAt, accounts, records, ...history }
    } catch (error) {
      throw inFile(path, 0, error, backupKind.advice)
    }
  } catch (error) {
    if (!(error instanceof InputDamagedError)) throw error
    const { size } = await file.stat()
    const reason = 'the compressed data is damaged or cut off'
    throw new DamagedFileError(path, size, reason, backupKind.advice, { cause: error })
  } finally {
    await file.close()
  }
}
