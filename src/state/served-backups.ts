import type { AuditTrail } from '../audit/audit-trail.ts'
import type { Turn } from '../audit/trail-scan.ts'
import { type LiveAccounts, throwForCaller } from '../auth/live-accounts.ts'
import { AnswerTooLargeError, ConnbookError, systemCode, TrailUnavailableError } from '../errors.ts'
import type { DataPaths } from '../files/data-folder.ts'
import type { Log } from '../log.ts'
import { type Family, gauge } from '../metrics/family.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { BackupFailedError, checkAccounts, keepBackupTime } from './backup.ts'
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
  #lastMs: number | undefined

  /** @param lastMs When the last backup was complete, in ms since 1970; undefined if there was none. */
  constructor(parts: ServedParts, lastMs: number | undefined) {
    this.#parts = parts
    this.#lastMs = lastMs
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

  /**
   * Keeps that a backup is complete, where its caller wants it; resolves once that is durable.
   *
   * @throws {StorageFullError} {StorageUnavailableError}
   */
  async keepTime(): Promise<void> {
    try {
      this.#lastMs = await keepBackupTime(this.#parts.folder)
    } catch (error) {
      throwForCaller('Cannot keep the time of the backup', error)
    }
  }

  get metrics(): readonly Family[] {
    return backupMetrics(() => this.#lastMs)
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

/** @param lastMs When the last backup was complete, in ms since 1970; undefined if there was none. */
export function backupMetrics(lastMs: () => number | undefined): readonly Family[] {
  return [
    gauge(
      'connbook_backup_last_timestamp_seconds',
      'When the last backup of the data folder was complete, in seconds since 1970; none before the first.',
      () => {
        const last = lastMs()
        return last && Math.floor(last / 1000)
      },
    ),
  ]
}
