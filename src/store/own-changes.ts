import { recordMemoryMax } from '../budget.ts'
import { OvertakenError, StorageUnavailableError, TooManyChangesError } from '../errors.ts'
import { runAtOnce, type Scheduler } from '../scheduler.ts'
import { timestamp } from '../timestamp.ts'
import { type Access, accessOf } from './access.ts'
import type { Actor, Asker } from './authorship.ts'
import { type BulkChange, changesNothing, type ImportPlan } from './bulk-change.ts'
import type { Change } from './change.ts'
import type { ChangeLog } from './change-log.ts'
import type { Configuration } from './configuration.ts'
import type { ConfigurationIndex } from './configuration-index.ts'
import { signedChangesOf, stepsOfChanges } from './import-plan.ts'
import { LargeImportGate } from './large-import-gate.ts'
import {
  type BulkOutcome,
  checkOf,
  checkTag,
  type Decide,
  type Decision,
  type ExpectedTag,
  isStillFor,
  type RecordChanges,
  tagFor,
} from './record-changes.ts'
import { RecordRoom } from './record-room.ts'
import type { Records } from './records.ts'
import { CHANGES, TRIALS } from './slices.ts'
import { StagedNames } from './staged-names.ts'

/**
 * The changes of a store that only this process changes. Each is decided for the latest state, pending changes included.
 */
export class OwnChanges implements RecordChanges {
  readonly #records: Records
  readonly #log: ChangeLog
  readonly #scheduler: Scheduler
  readonly #updatesAtOnceMax: number
  readonly #room: RecordRoom
  readonly #staged = new StagedNames()
  /** Every change passes it before it is decided. */
  readonly #gate: LargeImportGate
  /** Settles when the newest staged change is applied or refused. */
  #lastStaged: Promise<void> = Promise.resolve()
  #lastId: number
  /** The revision of the newest staged change; without one, that of the index. */
  #lastRevision: number

  /**
   * @param log Applies changes to `records`.
   * @param updatesAtOnceMax A change of many records that makes more updates of the index is planned and applied in slices.
   * @param recordBytesMax Memory for records.
   */
  constructor(
    records: Records,
    log: ChangeLog,
    scheduler: Scheduler,
    updatesAtOnceMax: number,
    recordBytesMax = recordMemoryMax(),
  ) {
    this.#records = records
    this.#room = new RecordRoom(recordBytesMax)
    this.#log = log
    this.#scheduler = scheduler
    this.#gate = new LargeImportGate(scheduler)
    this.#updatesAtOnceMax = updatesAtOnceMax
    this.#lastId = records.index.lastId
    this.#lastRevision = records.index.revision
    records.onDurable((change) => this.#staged.remove(change))
    records.onRefused(() => {
      this.#staged.clear()
      this.#lastRevision = this.#index.revision
    })
  }

  /**
   * A crash may still undo pending changes. So a decision that writes nothing, such as a refusal, waits until they are
   * durable, and is made again if they are refused. So is one behind a change that is not allowed any more.
   */
  async change<Outcome>(
    actor: Actor,
    asker: Asker | undefined,
    names: readonly string[],
    decide: Decide<Outcome>,
  ): Promise<Outcome> {
    this.#gate.checkNotEnding()
    for (;;) {
      if (this.#gate.isClosed) await this.#gate.pass(asker)
      asker?.checkAgain?.()
      const access = accessOf(asker)
      const find = (name: string) => this.#latest(name)
      let decision: Decision<Outcome>
      try {
        decision = decide({ find, access, nextId: this.#lastId + 1 })
        if ('change' in decision) this.#room.checkChange(this.#index, decision.change, find)
      } catch (refusal) {
        if (await this.#staged.areDurable(names)) throw refusal
        continue
      }
      if ('change' in decision) {
        const change = { ...decision.change, authorship: { actor, time: timestamp() } }
        const made = this.#made([change], this.#log.append(change, checkOf(asker, access)))
        if (await made) return decision.outcomeOf(change)
        continue
      }
      if (await this.#staged.areDurable(names)) return decision.outcome
    }
  }

  async planTogether(
    bulk: BulkChange,
    expected: ExpectedTag | undefined,
    asker: Asker | undefined,
  ): Promise<BulkOutcome> {
    for (;;) {
      const access = accessOf(asker)
      const revision = this.#lastRevision
      const pending = revision === this.#index.revision ? undefined : this.#lastStaged
      const holds = async () =>
        (await Promise.allSettled([pending]))[0].status === 'fulfilled' && isStillFor(asker, access)
      try {
        const tag = checkTag(this.#lastTag(access), expected)
        const records = bulk.readsAll ? this.#allLatest() : []
        const stored = { ...this.#storedNow(records, access), find: (name: string) => this.#latest(name) }
        const plan = await this.#scheduler.run(TRIALS, bulk.plan(stored), asker?.signal)
        this.#room.checkGrowth(this.#index, plan.growth)
        if (await holds()) return { ...plan, tag }
      } catch (refusal) {
        if (await holds()) throw refusal
      }
    }
  }

  async changeTogether(
    actor: Actor,
    bulk: BulkChange,
    expected: ExpectedTag | undefined,
    asker: Asker | undefined,
  ): Promise<BulkOutcome> {
    this.#gate.checkNotEnding()
    for (;;) {
      if (this.#gate.isClosed) await this.#gate.pass(asker)
      asker?.checkAgain?.()
      const stepsMax = this.#updatesAtOnceMax / this.#index.parts
      if (this.#isLarge(bulk.stepsOn(this.#index, stepsMax)))
        try {
          let tried: BulkOutcome | undefined
          if (bulk.isPlannedAhead) {
            this.#checkWritable(bulk)
            tried = await this.planTogether(bulk, expected, asker)
            if (changesNothing(tried)) return tried
            this.#gate.checkNotEnding()
            if (this.#gate.isClosed) await this.#gate.pass(asker)
          }
          return await this.#changeInSlices(actor, bulk, expected, asker, tried)
        } catch (error) {
          if (error instanceof OvertakenError) continue
          throw error
        }
      const access = accessOf(asker)
      const records = bulk.readsAll ? this.#allLatest() : []
      const find = (name: string) => this.#latest(name)
      let plan: ImportPlan
      try {
        checkTag(this.#lastTag(access), expected)
        plan = runAtOnce(bulk.plan({ ...this.#storedNow(records, access), find }))
        this.#room.checkGrowth(this.#index, plan.growth)
      } catch (refusal) {
        if (await this.#staged.areDurable(this.#staged.names())) throw refusal
        continue
      }
      const changes = runAtOnce(signedChangesOf(plan, actor, bulk.notesOf(plan)))
      if (changes.length > 0) {
        const made = this.#made(changes, this.#log.appendTogether(changes, checkOf(asker, access)))
        const tag = this.#lastTag(access)
        if (await made) return { ...plan, tag }
        continue
      }
      const tag = this.#lastTag(access)
      // As in `change`: a plan without changes waits until the pending ones are durable.
      if (await this.#staged.areDurable(this.#staged.names())) return { ...plan, tag }
    }
  }

  catchUp(): undefined {}

  close(): Promise<void> {
    return this.#gate.end()
  }

  get #index(): ConfigurationIndex {
    return this.#records.index
  }

  #lastTag(access: Access | undefined): string {
    return tagFor(access, this.#log.store, this.#lastRevision)
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

  /** @returns Whether the changes are durable; false if they must be decided again. */
  async #made(changes: readonly Change[], durable: Promise<void>): Promise<boolean> {
    try {
      await this.#stage(changes, durable)
      return true
    } catch (error) {
      if (error instanceof OvertakenError) return false
      throw error
    }
  }

  #isLarge(changes: number): boolean {
    return changes * this.#index.parts > this.#updatesAtOnceMax
  }

  /**
   * As no other change is decided meanwhile, the plan stays right, and needs no staged names.
   *
   * @param tried A plan from before: it is made if nothing has changed since.
   */
  async #changeInSlices(
    actor: Actor,
    bulk: BulkChange,
    expected: ExpectedTag | undefined,
    asker: Asker | undefined,
    tried: BulkOutcome | undefined,
  ): Promise<BulkOutcome> {
    const open = this.#gate.hold()
    try {
      // The changes before it are applied or refused first, so that the index is the latest state.
      await this.#lastStaged.catch(() => {})
      asker?.checkAgain?.()
      const access = accessOf(asker)
      this.#checkWritable(bulk)
      const tag = checkTag(this.#lastTag(access), expected)
      const records = this.#index.freeze()
      const stored = { ...this.#storedNow(records, access), find: (name: string) => this.#index.find(name) }
      // The tag is that of these records, as this asker sees them.
      const plan = tried?.tag === tag ? tried : await this.#scheduler.run(CHANGES, bulk.plan(stored))
      this.#room.checkGrowth(this.#index, plan.growth)
      const changes = await this.#scheduler.run(CHANGES, signedChangesOf(plan, actor, bulk.notesOf(plan)))
      if (this.#isLarge(stepsOfChanges(changes, this.#updatesAtOnceMax))) {
        this.#lastId = plan.added.at(-1)?.id ?? stored.lastId
        await this.#log.appendInSlices(changes, checkOf(asker, access)).catch((error: unknown) => {
          // Nothing was written, so its ids are still free. A disk that failed may have kept them.
          if (error instanceof TooManyChangesError || error instanceof OvertakenError)
            this.#lastId = stored.lastId
          throw error
        })
        this.#lastRevision = this.#index.revision
      } else if (changes.length > 0)
        await this.#stage(changes, this.#log.appendTogether(changes, checkOf(asker, access)))
      return { ...plan, tag: this.#lastTag(access) }
    } finally {
      open()
    }
  }

  #checkWritable({ verb }: BulkChange) {
    if (this.#log.isWritable) return
    throw new StorageUnavailableError(`Cannot ${verb}: the disk failed, and it is not yet sure again`)
  }

  #storedNow(records: Iterable<Configuration>, access: Access | undefined) {
    return { records, access, lastId: this.#lastId, memoryMax: this.#room.planMemoryMax(this.#index) }
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
}
