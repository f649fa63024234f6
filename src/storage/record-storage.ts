import type { Configuration } from '../store/configuration.ts'
import type { ConfigurationIndex } from '../store/configuration-index.ts'
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

/** Access to the stored records without serving them. */
export interface RecordStorage {
  /**
   * Reads all records. Changes nothing. If a server is writing, these are the records of one moment since the call, and
   * may include a change that is not yet durable.
   *
   * @param mustExist Whether an absent store is damage.
   * @throws {DamagedFileError} for anything but a torn tail.
   * @throws {StoreChangingError} if the files were replaced during every attempt.
   */
  read(mustExist: boolean): Promise<StoredRecords>
  /** Reads as `read` does, and describes the content or the damage of each file. */
  examine(mustExist: boolean): Promise<RecordsExamination>
  /**
   * Makes a store where none is, with a new id: its next revisions may have been used before, and id and revision
   * together make the entity tags of lists.
   */
  create(first: FirstRecords): Promise<void>
}
