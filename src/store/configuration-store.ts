import { removeIfPresent } from '../files/atomic-file.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { Journal, type JournalActivity } from '../journal/journal.ts'
import { SNAPSHOT_JOURNAL_BYTES_MIN } from '../limits.ts'
import type { Log } from '../log.ts'
import { Counter } from '../metrics/counter.ts'
import { type Change, encodeChange } from './change.ts'
import { Configuration, type ConfigurationPatch, type NewConfiguration } from './configuration.ts'
import type { ConfigurationIndex, Sort } from './configuration-index.ts'
import { changesOf, type ImportMode, type ImportPlan, planImport } from './import-plan.ts'
import { type Recovered, recoverStore } from './recovery.ts'
import { NameTakenError, StaleRecordError, UnknownNameError } from './refusals.ts'
import { writeSnapshot } from './snapshot.ts'
import { StagedNames } from './staged-names.ts'

/** Whether a record is the one that the caller means to change. */
export type Expectation = (record: Configuration) => boolean

/** A record before and after a change; the same when nothing changed. */
export interface Modification {
  readonly before: Configuration
  readonly after: Configuration
}

/** What became of the snapshots since the store was opened. */
export interface Snapshots {
  readonly written: Counter
  readonly failed: Counter
  /** The last one that was written, complete at `atMs` since 1970. */
  last?: { readonly atMs: number; readonly seconds: number }
}

interface Decision<Outcome> {
  readonly outcome: Outcome
  /** Undefined when everything stays as it is. */
  readonly change?: Change
}

/**
 * The records and their durability.
 *
 * What is read here is on disk. A change is checked against the latest state, changes on their way included, and
 * becomes visible when it is durable.
 */
export class ConfigurationStore {
  readonly #folder: DataPaths
  readonly #files: FileSystem
  readonly #log: Log
  readonly #index: ConfigurationIndex
  readonly #journal: Journal<Change>
  readonly #staged = new StagedNames()
  #lastId: number
  #hasOldJournal: boolean
  #snapshotDueBytes: number
  readonly #snapshotBytesMin: number
  readonly snapshots: Snapshots = { written: new Counter(), failed: new Counter() }
  #snapshot: Promise<void> | undefined

  /** Use `openConfigurationStore`. */
  constructor(
    recovered: Recovered,
    folder: DataPaths,
    log: Log,
    files: FileSystem,
    snapshotBytesMin: number,
  ) {
    this.#folder = folder
    this.#files = files
    this.#log = log
    this.#snapshotBytesMin = snapshotBytesMin
    this.#index = recovered.index
    this.#lastId = recovered.index.lastId
    this.#hasOldJournal = recovered.hasOldJournal
    // An old journal tells of a snapshot that did not come to its end.
    this.#snapshotDueBytes = recovered.hasOldJournal ? 0 : Math.max(snapshotBytesMin, recovered.snapshotBytes)
    const owner = {
      encode: encodeChange,
      apply: (change: Change, revision: number) => this.#apply(change, revision),
      refuse: () => this.#staged.clear(),
      recover: () => this.#recover(),
    }
    const { store, position } = recovered
    this.#journal = new Journal(folder.file(dataFiles.journal), store, position, owner, log, files)
    this.#snapshotIfDue()
  }

  /** Random and never changed; tells this store's records from any other's. */
  get id(): string {
    return this.#journal.store
  }

  /** Rises with every change. */
  get revision(): number {
    return this.#index.revision
  }

  get count(): number {
    return this.#index.count
  }

  /** Bytes of all records as JSON, without anything between them. */
  get jsonBytes(): number {
    return this.#index.jsonBytes
  }

  /** False while the disk has failed and changes are refused. */
  get isWritable(): boolean {
    return this.#journal.isWritable
  }

  /** Of the journal of changes. */
  get journalBytes(): number {
    return this.#journal.size
  }

  get journalActivity(): JournalActivity {
    return this.#journal.activity
  }

  find(name: string): Configuration | undefined {
    return this.#index.find(name)
  }

  /** Up to `limit` records from `offset` on; without `sort` by rising id. */
  list(offset: number, limit: number, sort?: Sort): Configuration[] {
    return this.#index.slice(offset, limit, sort)
  }

  /** All records as they are now, whatever changes later and however long they are held; can be read once. */
  freeze(sort?: Sort): Iterable<Configuration> {
    return this.#index.freeze(sort)
  }

  /**
   * Adds a configuration and resolves once it is on disk.
   *
   * The name is taken the moment this is called, so of two concurrent adds one wins; the record shows in `find` and
   * `list` only after the `fdatasync` that covers it.
   *
   * @returns The stored record; `id` is higher than any given before.
   * @throws {NameTakenError} with the record that holds the name; nothing has changed.
   * @throws {StorageFullError} if the journal could not grow; nothing has changed, and a later call may succeed.
   * @throws {StorageUnavailableError} if the disk failed; nothing has changed.
   * @throws {OverloadedError} if too many changes are waiting; nothing has changed.
   */
  add(draft: NewConfiguration): Promise<Configuration> {
    return this.#change([draft.name], () => {
      this.#checkFree(draft.name)
      const record = new Configuration(this.#lastId + 1, draft)
      return { outcome: record, change: { add: record } }
    })
  }

  /**
   * Changes some fields of a record and resolves once that is on disk; a patch that changes nothing writes nothing.
   *
   * @returns The record as it was just before this change, and as it became; the id stays.
   * @throws {UnknownNameError} if no record has the name.
   * @throws {StaleRecordError} if the record is not `expected`.
   * @throws {NameTakenError} if the new name belongs to another record. Also what `add` throws.
   */
  modify(name: string, patch: ConfigurationPatch, expected?: Expectation): Promise<Modification> {
    return this.#change([name, patch.name ?? name], () => {
      const before = this.#getExpected(name, expected)
      const after = before.with(patch)
      const outcome = { before, after }
      if (after === before) return { outcome }
      if (after.name !== name) this.#checkFree(after.name)
      return { outcome, change: { modify: after, name } }
    })
  }

  /**
   * Removes a record and resolves once that is on disk.
   *
   * @returns The record that was removed.
   * @throws {UnknownNameError} if no record has the name.
   * @throws {StaleRecordError} if the record is not `expected`. Also what `add` throws.
   */
  remove(name: string, expected?: Expectation): Promise<Configuration> {
    return this.#change([name], () => ({
      outcome: this.#getExpected(name, expected),
      change: { remove: name },
    }))
  }

  /** What `importAll` would do now; changes on their way count as done. */
  planImport(drafts: readonly NewConfiguration[], mode: ImportMode): ImportPlan {
    const stored = mode === 'replace' ? this.#allLatest() : []
    return planImport(drafts, mode, stored, (name) => this.#latest(name), this.#lastId)
  }

  /**
   * Adds and modifies records, and removes those that are not named where the mode says so; all at once or not at all,
   * whatever ends the process. Resolves once everything is on disk.
   *
   * @param drafts No two with the same name.
   * @throws {TooManyChangesError} if it is too much for one change; nothing has changed. Also what `add` throws.
   */
  async importAll(drafts: readonly NewConfiguration[], mode: ImportMode): Promise<ImportPlan> {
    for (;;) {
      const plan = this.planImport(drafts, mode)
      const changes = changesOf(plan)
      if (changes.length > 0) {
        await this.#stageTogether(changes)
        return plan
      }
      // As in `#change`: a crash must not make it untrue that there was nothing to do.
      if (await this.#staged.areDurable(this.#staged.names())) return plan
    }
  }

  /** Waits for what is on its way to the disk and closes the files. */
  async close(): Promise<void> {
    await this.#journal.close()
    await this.#snapshot
  }

  /**
   * Makes a decision and, when it is a change, hands it to the journal.
   *
   * A decision that needs no write, a refusal above all, must not rest on changes that a crash may still take back: it
   * waits until those are durable, and is made again when they are refused.
   */
  async #change<Outcome>(names: readonly string[], decide: () => Decision<Outcome>): Promise<Outcome> {
    for (;;) {
      let decision: Decision<Outcome>
      try {
        decision = decide()
      } catch (refusal) {
        if (await this.#staged.areDurable(names)) throw refusal
        continue
      }
      if (decision.change !== undefined) {
        await this.#stage(decision.change)
        return decision.outcome
      }
      if (await this.#staged.areDurable(names)) return decision.outcome
    }
  }

  #stage(change: Change): Promise<void> {
    const durable = this.#journal.append(change)
    this.#note(change, durable)
    return durable
  }

  #stageTogether(changes: readonly Change[]): Promise<void> {
    const durable = this.#journal.appendTogether(changes)
    for (const change of changes) this.#note(change, durable)
    return durable
  }

  #note(change: Change, durable: Promise<void>) {
    if ('add' in change) this.#lastId = change.add.id
    this.#staged.add(change, durable)
  }

  #apply(change: Change, revision: number) {
    this.#index.apply(change, revision)
    this.#staged.remove(change)
    this.#snapshotIfDue()
  }

  #latest(name: string): Configuration | undefined {
    const staged = this.#staged.find(name)
    return staged === undefined ? this.#index.find(name) : staged.holder
  }

  /** Every record as it will be once what is on its way is durable. */
  *#allLatest(): Iterable<Configuration> {
    for (const record of this.#index.freeze()) {
      if (this.#staged.find(record.name) === undefined) yield record
    }
    yield* this.#staged.holders()
  }

  #checkFree(name: string) {
    const holder = this.#latest(name)
    if (holder !== undefined) throw new NameTakenError(holder)
  }

  #getExpected(name: string, expected: Expectation | undefined): Configuration {
    const record = this.#latest(name)
    if (record === undefined) throw new UnknownNameError(name)
    if (expected !== undefined && !expected(record)) throw new StaleRecordError(name)
    return record
  }

  #snapshotIfDue() {
    if (this.#snapshot !== undefined || this.#journal.size < this.#snapshotDueBytes) return
    this.#snapshot = this.#compact()
      .catch((error: unknown) => {
        this.snapshots.failed.increment()
        this.#log.error('snapshot_failed', { reason: String(error) })
        this.#snapshotDueBytes = this.#journal.size + this.#snapshotBytesMin
      })
      .finally(() => {
        this.#snapshot = undefined
      })
  }

  /** Goes on in a new journal, writes a snapshot, and only then gives the old journal up. */
  async #compact() {
    if (!this.#hasOldJournal) {
      await this.#journal.restart(() => [], this.#folder.file(dataFiles.journalOld))
      this.#hasOldJournal = true
    }
    await this.#writeSnapshot()
    await this.#dropOldJournal()
  }

  /** After the disk failed: the journal is not to be trusted, so everything goes into a snapshot first. */
  async #recover() {
    await this.#snapshot
    await this.#writeSnapshot().catch((error: unknown) => {
      this.snapshots.failed.increment()
      throw error
    })
    await this.#journal.restart(() => [])
    await this.#dropOldJournal()
  }

  async #writeSnapshot() {
    const beganMs = performance.now()
    const { revision, lastId, count } = this.#index
    const path = this.#folder.file(dataFiles.snapshot)
    const header = { store: this.id, revision, lastId, count }
    const bytes = await writeSnapshot(path, header, this.#index.freeze(), this.#files)
    this.#snapshotDueBytes = Math.max(this.#snapshotBytesMin, bytes)
    this.snapshots.written.increment()
    this.snapshots.last = { atMs: Date.now(), seconds: (performance.now() - beganMs) / 1000 }
    this.#log.info('snapshot_written', { records: count, revision, bytes })
  }

  async #dropOldJournal() {
    await removeIfPresent(this.#folder.file(dataFiles.journalOld), this.#files)
    this.#hasOldJournal = false
  }
}

/**
 * Reads the store of a folder into memory.
 *
 * @param mustExist Whether a folder without a store is damage rather than new.
 * @param snapshotBytesMin A journal smaller than this is not worth a snapshot.
 * @throws {DamagedFileError} if what is on disk is not what was written, a torn tail excepted.
 */
export async function openConfigurationStore(
  folder: DataPaths,
  {
    mustExist,
    log,
    files = realFileSystem,
    snapshotBytesMin = SNAPSHOT_JOURNAL_BYTES_MIN,
  }: { mustExist: boolean; log: Log; files?: FileSystem; snapshotBytesMin?: number },
): Promise<ConfigurationStore> {
  const recovered = await recoverStore(folder, mustExist, files, log)
  return new ConfigurationStore(recovered, folder, log, files, snapshotBytesMin)
}
