import type { Configuration } from '../store/configuration.ts'
import type { ConfigurationIndex } from '../store/configuration-index.ts'
import type { Listed } from './change-trail.ts'
import type { Finding } from './finding.ts'
import type { StateHeader } from './record-document.ts'

/** The records of a store at one revision. */
export interface StoredRecords {
  /** Id of the store; undefined when there is none yet. */
  readonly store: string | undefined
  readonly index: ConfigurationIndex
}

export interface RecordsExamination {
  readonly findings: readonly Finding[]
  /** Undefined when the records cannot be read. */
  readonly stored: StoredRecords | undefined
}

/** The content of a new store; records by rising id. */
export interface FirstRecords extends Omit<StateHeader, 'store'> {
  readonly records: Iterable<Configuration>
}

/** A stretch of revisions, both ends included. */
export interface RevisionRange {
  readonly first: number
  readonly last: number
}

/** What can be read of damaged records. */
export interface SalvagedRecords {
  /** Id of the store; undefined when no file names it. */
  readonly store: string | undefined
  /** By rising id. */
  readonly records: readonly Configuration[]
  /** Revision of the last change that was found. */
  readonly revision: number
  /** No higher id can have been given up to `revision`. */
  readonly lastId: number
  /** Revisions up to `revision` whose changes are lost, rising. */
  readonly missing: readonly RevisionRange[]
  /** Changes that were read, but do not fit the records that were read. */
  readonly misfits: number
  /** Records that were read, but whose names others have: a renaming or removal is lost, or a name is damaged. */
  readonly displaced: readonly Configuration[]
  /** Records of the snapshot that cannot be read; undefined when its header is lost, too. */
  readonly unreadable: number | undefined
  /** Whether records of a damaged snapshot were read, which no checksum covers. */
  readonly isUnverified: boolean
  /** Files that were left out, because they belong to another store. */
  readonly foreign: readonly string[]
}

/** Access to the stored records without serving them. */
export interface RecordStorage {
  /**
   * Reads all records. Changes nothing. If a server is writing, these are the records of one moment since the call, and
   * may include a change that is not yet durable.
   *
   * @param mustExist Whether an absent store is damage.
   * @param listed What the audit trail lists, read before; a change that is missing is damage.
   * @throws {DamagedFileError} for anything but a torn tail.
   * @throws {StoreChangingError} if the files were replaced during every attempt.
   */
  read(mustExist: boolean, listed?: Listed): Promise<StoredRecords>
  /**
   * Reads as `read` does, and describes the content or the damage of each file.
   *
   * @param listed What the audit trail lists, read before; a change that is missing is damage.
   */
  examine(mustExist: boolean, listed?: Listed): Promise<RecordsExamination>
  /**
   * Reads what can be read of damaged records. Changes nothing; no server may be writing. For sound files it gives the
   * records that `read` gives.
   *
   * @throws {DamagedFileError} if a newer connbook wrote a file, with the advice to use that one.
   */
  salvage(): Promise<SalvagedRecords>
  /**
   * Makes a store where none is, with a new id: its next revisions may have been used before, and id and revision
   * together make the entity tags of lists.
   */
  create(first: FirstRecords): Promise<void>
}
