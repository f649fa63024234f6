import { StorageUnavailableError, TooManyChangesError } from '../errors.ts'
import type { Family } from '../metrics/family.ts'
import { type LongWork, runAtOnce, type Scheduler } from '../scheduler.ts'
import { timestamp } from '../timestamp.ts'
import type { Actor } from './actor.ts'
import type { Alteration, Change } from './change.ts'
import type { ChangeLog, ChangeLogOwner } from './change-log.ts'
import {
  Configuration,
  type ConfigurationPatch,
  type ImportedConfiguration,
  type NewConfiguration,
} from './configuration.ts'
import type { ConfigurationIndex, Sort } from './configuration-index.ts'
import type { ImportMode } from './import-mode.ts'
import {
  type ImportPlan,
  planImport,
  planImportInSlices,
  signedChangesOf,
  stepsOfChanges,
  stepsOfDraft,
} from './import-plan.ts'
import { stepsOfLabels } from './labels.ts'
import { type Asker, LargeImportGate } from './large-import-gate.ts'
import { listTag } from './list-tag.ts'
import { CHANGES, ORDERS, TRIALS } from './long-works.ts'
import { RecentChanges } from './recent-changes.ts'
import type { Stretch } from './record-filter.ts'
import { NameTakenError, StaleListError, StaleRecordError, UnknownNameError } from './refusals.ts'
import { SLICE_STEPS } from './slices.ts'
import type { Frozen } from './sorted-index.ts'
import { StagedNames } from './staged-names.ts'

/** Whether a record is the one that the caller means to change. */
export type Expectation = (record: Configuration) => boolean

/** Whether the records are, at a revision, those that the caller means to change. */
export type ExpectedRevision = (revision: number) => boolean

/** A record before and after a change; the same object if nothing changed. */
export interface Modification {
  readonly before: Configuration
  readonly after: Configuration
}

/** As `Modification`; `before` is undefined if the record was added. */
export interface Replacement {
  readonly before: Configuration | undefined
  readonly after: Configuration
}

/** What an import did, or would do. */
export interface ImportOutcome extends ImportPlan {
  /** Of the records after it; of one that was only tried, of the records that it was compared with. */
  readonly revision: number
}

/** Called after each durable change, with the record as it was before it; must not throw. */
export type DurableListener = (change: Change, revision: number, before: Configuration | undefined) => void

interface Decision<Outcome> {
  readonly outcome: Outcome
  /** Undefined if nothing changes. */
  readonly change?: Alteration
}

/**
 * The records, and every decision about them.
 *
 * Only durable records can be read. A change is checked against the latest state, pending changes included, and becomes
 * visible when it is durable.
 */
export class ConfigurationStore {
  readonly #index: ConfigurationIndex
  readonly #log: ChangeLog
  readonly #scheduler: Scheduler
  readonly #updatesAtOnceMax: number
  readonly #staged = new StagedNames()
  /** Every change passes it before it is decided. */
  readonly #gate: LargeImportGate
  #isClosing = false
  /** Settles when the newest staged change is applied or refused. */
  #lastStaged: Promise<void> = Promise.resolve()
  /** Orders that are being made. */
  readonly #ordering = new Map<Sort, Promise<void>>()
  #lastId: number
  #tag = { id: '', revision: -1, text: '' }
  /** Of the newest staged change; without one, of the index. */
  #lastRevision: number
  #listeners: readonly DurableListener[] = []
  /** The last durable changes. A large import shows in the records first, and then here. */
  readonly recent: RecentChanges

  /**
   * @param index All records that are durable already.
   * @param updatesAtOnceMax An import that makes more updates of the index is planned and applied in slices.
   * @param recent The last of the changes that made them.
   */
  constructor(
    index: ConfigurationIndex,
    createLog: (owner: ChangeLogOwner) => ChangeLog,
    scheduler: Scheduler,
    updatesAtOnceMax: number,
    recent = new RecentChanges(index.revision),
  ) {
    this.recent = recent
    this.onDurable((change, revision, before) => recent.add(change, revision, before))
    this.#index = index
    this.#scheduler = scheduler
    this.#gate = new LargeImportGate(scheduler)
    this.#updatesAtOnceMax = updatesAtOnceMax
    this.#lastId = index.lastId
    this.#lastRevision = index.revision
    this.#log = createLog({
      apply: (change, revision) => this.#apply(change, revision),
      applyTogether: (changes, firstRevision) =>
        scheduler.run(CHANGES, this.#applyTogether(changes, firstRevision)),
      refuse: () => {
        this.#staged.clear()
        this.#lastRevision = index.revision
      },
    })
  }

  /** Random and never changed. */
  get id(): string {
    return this.#log.store
  }

  /** Rises with every change. */
  get revision(): number {
    return this.#index.revision
  }

  /** The tag of all records as they are now. */
  get tag(): string {
    const { id, revision } = this
    if (this.#tag.revision !== revision || this.#tag.id !== id)
      this.#tag = { id, revision, text: listTag(id, revision) }
    return this.#tag.text
  }

  get count(): number {
    return this.#index.count
  }

  /** Bytes of all records as JSON, without separators. */
  get jsonBytes(): number {
    return this.#index.jsonBytes
  }

  /** Whether any record has labels. */
  get hasLabels(): boolean {
    return this.#index.hasLabels
  }

  /** False while the storage has failed and changes are refused. */
  get isWritable(): boolean {
    return this.#log.isWritable
  }

  get storageMetrics(): readonly Family[] {
    return this.#log.metrics
  }

  find(name: string): Configuration | undefined {
    return this.#index.find(name)
  }

  /** Whether `list` and `freeze` can take this `sort` at once. */
  isOrdered(sort: Sort): boolean {
    return this.#index.isOrdered(sort)
  }

  /** Resolves once `isOrdered`. Calls for the same `sort` share the work, which goes on if a caller has gone. */
  order(sort: Sort): Promise<void> {
    const ordering =
      this.#ordering.get(sort) ??
      this.#scheduler.run(ORDERS, this.#index.order(sort)).finally(() => this.#ordering.delete(sort))
    this.#ordering.set(sort, ordering)
    return ordering
  }

  /** Up to `limit` records from `offset` on; without `sort` by rising id. @throws {Error} unless `isOrdered`. */
  list(offset: number, limit: number, sort?: Sort): Configuration[] {
    return this.#index.slice(offset, limit, sort)
  }

  /** Offset and number of the records of a stretch, in logarithmic time. @throws {Error} unless `isOrdered`. */
  measure({ order, place }: Stretch): { readonly offset: number; readonly count: number } {
    return this.#index.stretch(order, place)
  }

  /**
   * Records as they are now, whatever changes later: all, or up to `limit` from `offset` on. Can be read again.
   *
   * @throws {Error} unless `isOrdered`.
   */
  freeze(sort?: Sort, offset?: number, limit?: number): Frozen<Configuration> {
    return this.#index.freeze(sort, offset, limit)
  }

  /**
   * Adds a configuration and resolves once it is durable.
   *
   * The name is taken the moment this is called, so of two concurrent adds one wins; the record shows in `find` and
   * `list` only once it is durable.
   *
   * @param actor Who asks for it; kept with the change.
   * @param asker The same, while the change waits for a large import to end.
   * @returns The stored record; `id` is higher than any given before.
   * @throws {NameTakenError} with the record that holds the name. After this or another error, nothing has changed.
   * @throws {StorageFullError} if there is no room; a later call may succeed.
   * @throws {StorageUnavailableError} if the storage failed.
   * @throws {OverloadedError} if too many changes are waiting.
   */
  add(actor: Actor, draft: NewConfiguration, asker?: Asker): Promise<Configuration> {
    return this.#change(actor, asker, [draft.name], () => {
      this.#checkFree(draft.name)
      const record = new Configuration(this.#lastId + 1, draft)
      return { outcome: record, change: { add: record } }
    })
  }

  /**
   * Changes some fields of a record and resolves once that is durable; a patch that changes nothing writes nothing.
   *
   * @returns The record as it was just before this change, and as it became; the id stays.
   * @throws {UnknownNameError} if no record has the name.
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
    return this.#change(actor, asker, [name, patch.name ?? name], () => {
      const before = this.#getExpected(name, expected)
      const after = before.with(patch)
      const outcome = { before, after }
      if (after === before) return { outcome }
      if (after.name !== name) this.#checkFree(after.name)
      return { outcome, change: { modify: after, name } }
    })
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
    const { name } = draft
    return this.#change<Replacement>(actor, asker, [name], () => {
      const before = this.#latest(name)
      if (expected !== undefined && !expected(before)) throw unexpected(name, before)
      if (before === undefined) {
        const after = new Configuration(this.#lastId + 1, draft)
        return { outcome: { before, after }, change: { add: after } }
      }
      const after = before.replacedBy(draft)
      const outcome = { before, after }
      return after === before ? { outcome } : { outcome, change: { modify: after, name } }
    })
  }

  /**
   * Removes a record and resolves once that is durable.
   *
   * @returns The record that was removed.
   * @throws {UnknownNameError} if no record has the name.
   * @throws {StaleRecordError} if the record is not `expected`. Also what `add` throws.
   */
  remove(actor: Actor, name: string, expected?: Expectation, asker?: Asker): Promise<Configuration> {
    return this.#change(actor, asker, [name], () => ({
      outcome: this.#getExpected(name, expected),
      change: { remove: name },
    }))
  }

  /**
   * What `importAll` would do now; pending changes count as done, once they are. Of changes made meanwhile, some may
   * count, but not in the revision: `importAll` refuses it then.
   *
   * @param signal Stops the work; the promise rejects with its reason.
   * @throws {StaleListError} if the records are not `expected`.
   */
  async planImport(
    drafts: readonly ImportedConfiguration[],
    mode: ImportMode,
    expected?: ExpectedRevision,
    signal?: AbortSignal,
  ): Promise<ImportOutcome> {
    for (;;) {
      const revision = this.#lastRevision
      const pending = revision === this.#index.revision ? undefined : this.#lastStaged
      const areDurable = async () => (await Promise.allSettled([pending]))[0].status === 'fulfilled'
      try {
        checkRevision(revision, expected)
        const records = mode === 'replace' ? this.#allLatest() : []
        const stored = { records, find: (name: string) => this.#latest(name), lastId: this.#lastId }
        const plan = await this.#scheduler.run(TRIALS, planImportInSlices(drafts, mode, stored), signal)
        if (await areDurable()) return { ...plan, revision }
      } catch (refusal) {
        if (await areDurable()) throw refusal
      }
    }
  }

  /**
   * Adds and modifies records; the mode `replace` also removes those that are not named. Atomic, even in a crash.
   * Resolves once everything is durable. During a large import, all other changes wait, and reads show the state before.
   *
   * @param drafts No two with the same name.
   * @throws {StaleListError} if the records are not `expected`, at the moment when the changes are decided.
   * @throws {TooManyChangesError} if it takes too many changes; nothing has changed.
   * @throws {InvalidInputError} if a record would have too many labels. Also what `add` throws.
   */
  async importAll(
    actor: Actor,
    drafts: readonly ImportedConfiguration[],
    mode: ImportMode,
    expected?: ExpectedRevision,
    asker?: Asker,
  ): Promise<ImportOutcome> {
    this.#checkOpen()
    for (;;) {
      if (this.#gate.isClosed) await this.#gate.pass(asker)
      if (this.#isLargeImport(drafts, mode)) return this.#importInSlices(actor, drafts, mode, expected)
      const records = mode === 'replace' ? this.#allLatest() : []
      const find = (name: string) => this.#latest(name)
      let plan: ImportPlan
      try {
        checkRevision(this.#lastRevision, expected)
        plan = planImport(drafts, mode, { records, find, lastId: this.#lastId })
      } catch (refusal) {
        if (await this.#staged.areDurable(this.#staged.names())) throw refusal
        continue
      }
      const changes = runAtOnce(signedChangesOf(plan, actor, mode))
      if (changes.length > 0) {
        const durable = this.#stage(changes, this.#log.appendTogether(changes))
        const revision = this.#lastRevision
        await durable
        return { ...plan, revision }
      }
      const revision = this.#lastRevision
      // As in `#change`: a plan without changes waits until the pending ones are durable.
      if (await this.#staged.areDurable(this.#staged.names())) return { ...plan, revision }
    }
  }

  /**
   * Calls the listener after each durable change, in the order of revisions: `find` and `list` show the change already,
   * but the promise of its caller resolves later.
   *
   * @returns Stops the calls.
   */
  onDurable(listener: DurableListener): () => void {
    this.#listeners = [...this.#listeners, listener]
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== listener)
    }
  }

  /** Waits for pending changes; refuses further ones at once, with {StorageUnavailableError}. */
  async close(): Promise<void> {
    this.#isClosing = true
    while (this.#gate.isClosed) await this.#gate.idle()
    await this.#log.close()
  }

  #checkOpen() {
    if (this.#isClosing)
      throw new StorageUnavailableError('Cannot store the change: the store is being closed')
  }

  /**
   * Makes a decision and, if it is a change, appends it to the log.
   *
   * A crash may still undo pending changes. So a decision that writes nothing, such as a refusal, waits until they are
   * durable, and is made again if they are refused.
   */
  async #change<Outcome>(
    actor: Actor,
    asker: Asker | undefined,
    names: readonly string[],
    decide: () => Decision<Outcome>,
  ): Promise<Outcome> {
    this.#checkOpen()
    for (;;) {
      if (this.#gate.isClosed) await this.#gate.pass(asker)
      let decision: Decision<Outcome>
      try {
        decision = decide()
      } catch (refusal) {
        if (await this.#staged.areDurable(names)) throw refusal
        continue
      }
      if (decision.change !== undefined) {
        const change = { ...decision.change, authorship: { actor, time: timestamp() } }
        await this.#stage([change], this.#log.append(change))
        return decision.outcome
      }
      if (await this.#staged.areDurable(names)) return decision.outcome
    }
  }

  #stage(changes: readonly Change[], durable: Promise<void>): Promise<void> {
    this.#lastStaged = durable
    this.#lastRevision += changes.length
    for (const change of changes) {
      if ('add' in change) this.#lastId = change.add.id
      this.#staged.add(change, durable)
    }
    return durable
  }

  #isLarge(changes: number): boolean {
    return changes * this.#index.parts > this.#updatesAtOnceMax
  }

  /** Whether an import takes so many updates, or so much text of labels, that it must be done in slices. */
  #isLargeImport(drafts: readonly ImportedConfiguration[], mode: ImportMode): boolean {
    const changes = drafts.length + (mode === 'replace' ? this.count : 0)
    if (this.#isLarge(changes)) return true
    // Few enough to look at each.
    let steps = changes
    for (const draft of drafts) {
      steps += stepsOfDraft(draft) - 1
      if (mode === 'merge' && this.hasLabels) steps += stepsOfLabels(this.#index.find(draft.name)?.labels)
    }
    const replaced = mode === 'replace' && this.hasLabels ? this.#index.freeze() : []
    for (const { labels } of replaced) steps += stepsOfLabels(labels)
    return this.#isLarge(steps)
  }

  /** As no other change is decided meanwhile, the plan stays right, and needs no staged names. */
  async #importInSlices(
    actor: Actor,
    drafts: readonly ImportedConfiguration[],
    mode: ImportMode,
    expected: ExpectedRevision | undefined,
  ): Promise<ImportOutcome> {
    const open = this.#gate.hold()
    try {
      // The changes before it are applied or refused first, so that the index is the latest state.
      await this.#lastStaged.catch(() => {})
      if (!this.#log.isWritable)
        throw new StorageUnavailableError('Cannot import: the disk failed, and it is not yet sure again')
      checkRevision(this.#lastRevision, expected)
      const records = this.#index.freeze()
      const stored = { records, find: (name: string) => this.#index.find(name), lastId: this.#lastId }
      const plan = await this.#scheduler.run(CHANGES, planImportInSlices(drafts, mode, stored))
      const changes = await this.#scheduler.run(CHANGES, signedChangesOf(plan, actor, mode))
      if (this.#isLarge(stepsOfChanges(changes, this.#updatesAtOnceMax))) {
        this.#lastId = plan.added.at(-1)?.id ?? stored.lastId
        await this.#log.appendInSlices(changes).catch((error: unknown) => {
          // Nothing was written, so its ids are still free. A disk that failed may have kept them.
          if (error instanceof TooManyChangesError) this.#lastId = stored.lastId
          throw error
        })
        this.#lastRevision = this.#index.revision
      } else if (changes.length > 0) await this.#stage(changes, this.#log.appendTogether(changes))
      return { ...plan, revision: this.#lastRevision }
    } finally {
      open()
    }
  }

  *#applyTogether(changes: readonly Change[], firstRevision: number): LongWork<void> {
    const before = yield* this.#index.applyTogether(changes, firstRevision)
    for (const [i, change] of changes.entries()) {
      for (const listener of this.#listeners) listener(change, firstRevision + i, before[i])
      if ((i + 1) % SLICE_STEPS === 0) yield
    }
  }

  #apply(change: Change, revision: number) {
    const before = this.#index.apply(change, revision)
    this.#staged.remove(change)
    for (const listener of this.#listeners) listener(change, revision, before)
  }

  #latest(name: string): Configuration | undefined {
    const staged = this.#staged.find(name)
    return staged === undefined ? this.#index.find(name) : staged.holder
  }

  /** Every record as it is now, pending changes included. */
  #allLatest(): Iterable<Configuration> {
    const [records, holders] = [this.#index.freeze(), this.#staged.holders()]
    const touched = new Set(this.#staged.names())
    return (function* () {
      for (const record of records) if (!touched.has(record.name)) yield record
      yield* holders
    })()
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
}

/** @throws {StaleListError} */
function checkRevision(revision: number, expected: ExpectedRevision | undefined) {
  if (expected !== undefined && !expected(revision)) throw new StaleListError()
}

function unexpected(name: string, record: Configuration | undefined): StaleRecordError {
  if (record !== undefined)
    return new StaleRecordError(name, `The configuration "${name}" is not the one expected; read it`)
  return new StaleRecordError(name, `There is no configuration named "${name}", but one is expected`)
}
