import type { Family } from '../metrics/family.ts'
import type { Access } from './access.ts'
import type { Actor, Asker, ImportMode } from './authorship.ts'
import type { BulkChange } from './bulk-change.ts'
import type { ChangeLog } from './change-log.ts'
import type {
  Configuration,
  ConfigurationPatch,
  ImportedConfiguration,
  NewConfiguration,
} from './configuration.ts'
import type { Sort } from './configuration-index.ts'
import { type BulkOutcome, type ExpectedTag, tagFor } from './decisions.ts'
import { bulkImport } from './import-plan.ts'
import { listTag } from './list-tag.ts'
import type { RecentChanges } from './recent-changes.ts'
import type { Stretch } from './record-filter.ts'
import type { DurableListener, Records } from './records.ts'
import {
  decideAdd,
  decideModify,
  decidePut,
  decideRemove,
  type Expectation,
  type Modification,
  type Replacement,
} from './single-change.ts'
import type { Frozen } from './sorted-index.ts'
import type { Writer } from './writer.ts'

/**
 * The records, and every decision about them.
 *
 * Only durable records can be read. A change is decided when its turn comes, for the records as they are then and for the
 * changes that become durable with it, and becomes visible when it is durable.
 */
export class ConfigurationStore {
  readonly #records: Records
  readonly #log: ChangeLog
  readonly #writer: Writer
  #tag = { id: '', revision: -1, text: '' }

  /**
   * @param log Makes changes durable, and applies them to `records`.
   * @param writer Decides changes, and commits them to `log`.
   */
  constructor(records: Records, log: ChangeLog, writer: Writer) {
    this.#records = records
    this.#log = log
    this.#writer = writer
  }

  /** The last durable changes. A large import shows in the records first, and then here. */
  get recent(): RecentChanges {
    return this.#records.recent
  }

  /** Random. Another one when other records have been put in place of all. */
  get id(): string {
    return this.#log.store
  }

  /** Rises with every change. */
  get revision(): number {
    return this.#records.index.revision
  }

  /** The highest id ever given to a record that was stored. */
  get lastId(): number {
    return this.#records.index.lastId
  }

  /** The tag of all records as they are now. */
  get tag(): string {
    const { id, revision } = this
    if (this.#tag.revision !== revision || this.#tag.id !== id)
      this.#tag = { id, revision, text: listTag(id, revision) }
    return this.#tag.text
  }

  /** The tag of the records that somebody sees, at this revision or an earlier one. */
  tagFor(access: Access | undefined, revision = this.revision): string {
    if (access === undefined && revision === this.revision) return this.tag
    return tagFor(access, this.id, revision)
  }

  get count(): number {
    return this.#records.index.count
  }

  /** Bytes of all records as JSON, without separators. */
  get jsonBytes(): number {
    return this.#records.index.jsonBytes
  }

  /** How many labels all records have together. */
  get labels(): number {
    return this.#records.index.labels
  }

  /** Whether any record has labels. */
  get hasLabels(): boolean {
    return this.#records.index.hasLabels
  }

  /** False while the storage has failed and changes are refused. */
  get isWritable(): boolean {
    return this.#log.isWritable
  }

  get storageMetrics(): readonly Family[] {
    return this.#log.metrics
  }

  find(name: string): Configuration | undefined {
    return this.#records.index.find(name)
  }

  /** Whether `list` and `freeze` can take this `sort` at once. */
  isOrdered(sort: Sort): boolean {
    return this.#records.index.isOrdered(sort)
  }

  /** Resolves once `isOrdered`. Calls for the same `sort` share the work, which goes on if a caller has gone. */
  order(sort: Sort): Promise<void> {
    return this.#records.order(sort)
  }

  /** Up to `limit` records from `offset` on; without `sort` by rising id. @throws {Error} unless `isOrdered`. */
  list(offset: number, limit: number, sort?: Sort): Configuration[] {
    return this.#records.index.slice(offset, limit, sort)
  }

  /** Offset and number of the records of a stretch, in logarithmic time. @throws {Error} unless `isOrdered`. */
  measure({ order, place }: Stretch): { readonly offset: number; readonly count: number } {
    return this.#records.index.stretch(order, place)
  }

  /**
   * Records as they are now, whatever changes later: all, or up to `limit` from `offset` on. Can be read again.
   *
   * @throws {Error} unless `isOrdered`.
   */
  freeze(sort?: Sort, offset?: number, limit?: number): Frozen<Configuration> {
    return this.#records.index.freeze(sort, offset, limit)
  }

  /**
   * Adds a configuration and resolves once it is durable.
   *
   * Of two concurrent adds one wins; the record shows in `find` and `list` only once it is durable.
   *
   * @param actor Who asks for it; kept with the change.
   * @param asker The same, as long as the change can be refused; anybody may change anything if absent.
   * @returns The stored record; `id` is higher than any given before.
   * @throws {NotGrantedError} if the asker's grants do not allow the change.
   * @throws {NameTakenError} with the record that holds the name. After this or another error, nothing has changed.
   * @throws {StorageFullError} if there is no room; a later call may succeed.
   * @throws {MemoryFullError} if the records take all the memory that they may.
   * @throws {StorageUnavailableError} if the storage failed.
   * @throws {OverloadedError} if too many changes are waiting.
   * @throws What the asker's `checkAgain` throws, until the change is being written.
   */
  add(actor: Actor, draft: NewConfiguration, asker?: Asker): Promise<Configuration> {
    return this.#writer.submit(actor, asker, (latest) => decideAdd(latest, draft))
  }

  /**
   * Changes some fields of a record and resolves once that is durable; a patch that changes nothing writes nothing.
   *
   * @returns The record as it was just before this change, and as it became; the id stays.
   * @throws {UnknownNameError} if no record has the name, or none that the asker sees.
   * @throws {StaleRecordError} if the record is not `expected`.
   * @throws {NameTakenError} if the new name belongs to another record.
   * @throws {InvalidInputError} if it would have too many labels. Also what `add` throws.
   */
  modify(
    actor: Actor,
    name: string,
    patch: ConfigurationPatch,
    expected?: Expectation,
    asker?: Asker,
  ): Promise<Modification> {
    return this.#writer.submit(actor, asker, (latest) => decideModify(latest, name, patch, expected))
  }

  /**
   * Adds a record, or replaces the fields of the one that has the name, and resolves once that is durable. If nothing
   * differs, it writes nothing.
   *
   * Atomic: of two concurrent calls for a new name, one adds, and the other sees its record.
   *
   * @param expected Is given undefined if no record has the name.
   * @returns The record as it was just before, and as it became; the id of a record stays.
   * @throws {StaleRecordError} if the record, or its absence, is not `expected`. Also what `add` throws, but for
   *   {NameTakenError}.
   */
  put(
    actor: Actor,
    draft: NewConfiguration,
    expected?: (record: Configuration | undefined) => boolean,
    asker?: Asker,
  ): Promise<Replacement> {
    return this.#writer.submit(actor, asker, (latest) => decidePut(latest, draft, expected))
  }

  /**
   * Removes a record and resolves once that is durable.
   *
   * @returns The record that was removed.
   * @throws {UnknownNameError} if no record has the name, or none that the asker sees.
   * @throws {StaleRecordError} if the record is not `expected`. Also what `add` throws.
   */
  remove(actor: Actor, name: string, expected?: Expectation, asker?: Asker): Promise<Configuration> {
    return this.#writer.submit(actor, asker, (latest) => decideRemove(latest, name, expected))
  }

  /**
   * What `changeTogether` would do now. Of changes made meanwhile, some may count, but not in the tag: `changeTogether`
   * refuses it then.
   *
   * @param asker Its signal stops the work; the promise rejects with the reason.
   * @throws {StaleListError} if the records are not `expected`. Also what `bulk` and the asker's `checkAgain` throw.
   */
  planTogether(bulk: BulkChange, expected?: ExpectedTag, asker?: Asker): Promise<BulkOutcome> {
    return this.#writer.plan(bulk, expected, asker)
  }

  /**
   * Makes many changes. Atomic, even in a crash. Resolves once everything is durable. They are planned while others go on;
   * in its turn, others wait until they are durable, and reads show the state before.
   *
   * @throws {StaleListError} if the records are not `expected`, at the moment when the changes are decided.
   * @throws {TooManyChangesError} if it takes too many changes; nothing has changed.
   * @throws {InvalidInputError} if a record would have too many labels. Also what `bulk` and `add` throw.
   */
  changeTogether(
    actor: Actor,
    bulk: BulkChange,
    expected?: ExpectedTag,
    asker?: Asker,
  ): Promise<BulkOutcome> {
    return this.#writer.submitBulk({ actor, asker, bulk }, expected)
  }

  /** As `planTogether`. @param drafts No two with the same name. */
  planImport(
    drafts: readonly ImportedConfiguration[],
    mode: ImportMode,
    expected?: ExpectedTag,
    asker?: Asker,
  ): Promise<BulkOutcome> {
    return this.planTogether(bulkImport(drafts, mode), expected, asker)
  }

  /** As `changeTogether`. @param drafts No two with the same name. */
  importAll(
    actor: Actor,
    drafts: readonly ImportedConfiguration[],
    mode: ImportMode,
    expected?: ExpectedTag,
    asker?: Asker,
  ): Promise<BulkOutcome> {
    return this.changeTogether(actor, bulkImport(drafts, mode), expected, asker)
  }

  /**
   * Calls the listener after each durable change, in the order of revisions: `find` and `list` show the change already,
   * but the promise of its caller resolves later.
   *
   * @returns Stops the calls.
   */
  onDurable(listener: DurableListener): () => void {
    return this.#records.onDurable(listener)
  }

  /** As `ChangeLog.catchUp`. */
  catchUp(): Promise<void> | undefined {
    return this.#writer.catchUp()
  }

  /** Calls the listener when other records are in the place of all, which do not follow from them by changes. */
  onReplaced(listener: () => void): void {
    this.#records.onReplaced(listener)
  }

  /** Waits for pending changes; refuses further ones at once, with {StorageUnavailableError}. */
  async close(): Promise<void> {
    await this.#writer.close()
    await this.#log.close()
  }
}
