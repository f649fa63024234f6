import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Turn } from '../audit/trail-scan.ts'
import type { LiveAccounts } from '../auth/live-accounts.ts'
import { AnswerTooLargeError, ConnbookError, systemCode, TrailUnavailableError } from '../errors.ts'
import type { DataPaths } from '../files/data-folder.ts'
import type { Log } from '../log.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { BackupFailedError, checkAccounts, writeBackupTime } from './backup.ts'
import type { Backup } from './backup-document.ts'
import { readKeptHistory } from './kept-history.ts'

export interface ServedParts {
  readonly store: ConfigurationStore
  readonly accounts: Pick<LiveAccounts, 'all'>
  readonly folder: DataPaths
  readonly audit: Pick<AuditTrail, 'written'>
  readonly log: Log
  /** False for a node of a cluster: each has a history of its own. */
  readonly hasWholeHistory: boolean
}

/** Takes backups of what this process serves, as it is in memory. */
export class ServedBackups {
  readonly #parts: ServedParts
  #keeping: Promise<void> = Promise.resolve()

  constructor(parts: ServedParts) {
    this.#parts = parts
  }

  get hasWholeHistory(): boolean {
    return this.#parts.hasWholeHistory
  }

  /**
   * Takes a backup of one moment.
   *
   * @param turn Reads the history in turns with other work; absent for a backup without history.
   * @throws {AnswerTooLargeError} for too many accounts. {TrailUnavailableError}
   */
  async take(turn: Turn | undefined): Promise<Backup> {
    const { store, accounts, folder } = this.#parts
    const { id, revision, lastId, count } = store
    const backup = {
      ...{ store: id, revision, lastId, count },
      createdAt: new Date().toISOString(),
      accounts: accounts.all,
      records: store.freeze(),
    }
    try {
      checkAccounts(backup.accounts, folder.path, 'copy the folder of the stopped server')
    } catch (error) {
      throw error instanceof BackupFailedError ? new AnswerTooLargeError(error.message) : error
    }
    return turn === undefined ? backup : { ...backup, history: await this.#readHistory(backup, turn) }
  }

  /** Keeps that a backup was taken whole. A failure is only logged. */
  keepTime(): void {
    const { folder, log } = this.#parts
    this.#keeping = writeBackupTime(folder).catch((error: unknown) => {
      log.warn('backup_time_not_kept', { reason: String(error) })
    })
  }

  /** Resolves once nothing is being written. */
  close(): Promise<void> {
    return this.#keeping
  }

  async #readHistory(backup: Backup, turn: Turn) {
    const { folder, audit, log } = this.#parts
    try {
      await audit.written()
      return await readKeptHistory(folder, backup, turn)
    } catch (error) {
      if (error instanceof ConnbookError || systemCode(error) === undefined) throw error
      log.error('audit_not_read', { reason: String(error) })
      throw new TrailUnavailableError(
        'Cannot take the history along: the audit trail cannot be read or written now; see the log, and try again later',
        { cause: error },
      )
    }
  }
}
