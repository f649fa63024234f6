import type { Configuration } from '../store/configuration.ts'
import type { ConfigurationIndex } from '../store/configuration-index.ts'
import type { Finding } from './finding.ts'
import type { StateHeader } from './record-document.ts'

/** All records of a store at one revision. */
export interface StoredRecords {
  /** Id of the store; undefined when there is none so far. */
  readonly store: string | undefined
  readonly index: ConfigurationIndex
}

/** What is found when everything in a storage is looked at. */
export interface RecordsExamination {
  readonly findings: readonly Finding[]
  /** Undefined when the records cannot be read. */
  readonly stored: StoredRecords | undefined
}

/** What a new store begins with; its records by rising id. */
export interface FirstRecords extends Omit<StateHeader, 'store'> {
  readonly records: Iterable<Configuration>
}

/** Where records are kept, for those who read or fill it without serving it. */
export interface RecordStorage {
  /**
   * Reads all records, and changes nothing. A server may be writing; then the records are those of some moment since the
   * call. A change that is just becoming durable may be among them.
   *
   * @param mustExist Whether it is damage, not a new store, when nothing is there.
   * @throws {DamagedFileError} if what is there is not what was written.
   * @throws {StoreChangingError} if its parts were replaced again and again meanwhile.
   */
  read(mustExist: boolean): Promise<StoredRecords>
  /** Reads as `read` does, and tells what each part holds, or how it is damaged. */
  examine(mustExist: boolean): Promise<RecordsExamination>
  /**
   * Makes a store where none is.
   *
   * It gets an id of its own: the revisions after that of the records may have been given before, and the two together
   * make the entity tags of lists.
   */
  create(first: FirstRecords): Promise<void>
}
