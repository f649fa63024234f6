import { recordMemoryMax } from '../budget.ts'
import { OvertakenError, StorageUnavailableError } from '../errors.ts'
import type { Scheduler } from '../scheduler.ts'
import { type Access, accessOf } from '../store/access.ts'
import type { Actor, Asker } from '../store/authorship.ts'
import { type BulkChange, changesNothing } from '../store/bulk-change.ts'
import type { Alteration } from '../store/change.ts'
import type { CheckChange, SharedChangeLog } from '../store/change-log.ts'
import type { ConfigurationIndex } from '../store/configuration-index.ts'
import { signedChangesOf } from '../store/import-plan.ts'
import { LargeImportGate } from '../store/large-import-gate.ts'
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
} from '../store/record-changes.ts'
import { RecordRoom } from '../store/record-room.ts'
import type { Records } from '../store/records.ts'
import { CHANGES, TRIALS } from '../store/slices.ts'
import { timestamp } from '../timestamp.ts'

/** How often a change of many records is planned anew when other nodes change records meanwhile. */
export const IMPORT_TRIES_MAX = 5
/** How long a change is decided anew when other nodes are faster each time. */
export const OVERTAKEN_MS_MAX = 10_000

/**
 * The changes of a store that other processes change, too.
 *
 * A decision is made for the records as the index has them, and the log makes its change only if that is still the latest
 * state. One that writes nothing, such as a refusal, is made again once the index has caught up.
 */
export class SharedChanges implements RecordChanges {
  readonly #records: Records
  readonly #log: SharedChangeLog
  readonly #scheduler: Scheduler
  readonly #room: RecordRoom
  readonly #gate: LargeImportGate
  readonly #elapsed: () => number
  /** The changes on their way, by the names that they touch; each settles with its change, and never rejects. */
  readonly #pending = new Map<string, Promise<void>>()

  /**
   * @param log Applies the changes of all processes to `records`.
   * @param recordBytesMax Memory for records in this process; others may have less.
   * @param elapsed Milliseconds of a monotonic clock.
   */
  constructor(
    records: Records,
    log: SharedChangeLog,
    scheduler: Scheduler,
    recordBytesMax = recordMemoryMax(),
    elapsed: () => number = () => performance.now(),
  ) {
    this.#records = records
    this.#log = log
    this.#scheduler = scheduler
    this.#room = new RecordRoom(recordBytesMax)
    this.#gate = new LargeImportGate(scheduler)
    this.#elapsed = elapsed
  }

  async change<Outcome>(
    actor: Actor,
    asker: Asker | undefined,
    names: readonly string[],
    decide: Decide<Outcome>,
  ): Promise<Outcome> {
    const until = this.#elapsed() + OVERTAKEN_MS_MAX
    for (let isCaughtUp = false; ; ) {
      this.#gate.checkNotEnding()
      if (this.#gate.isClosed) await this.#gate.pass(asker)
      const pending = this.#pendingOf(names)
      if (pending !== undefined) {
        await pending
        continue
      }
      asker?.checkAgain?.()
      const access = accessOf(asker)
      const index = this.#index
      const find = (name: string) => index.find(name)
      let decision: Decision<Outcome>
      try {
        decision = decide({ find, access, nextId: index.lastId + 1 })
        if ('change' in decision) this.#room.checkChange(index, decision.change, find)
      } catch (refusal) {
        if (isCaughtUp) throw refusal
        await this.#log.catchUp()
        isCaughtUp = true
        continue
      }
      if (!('change' in decision)) {
        if (isCaughtUp) return decision.outcome
        await this.#log.catchUp()
        isCaughtUp = true
        continue
      }
      try {
        const check = checkOf(asker, access)
        return decision.outcomeOf(await this.#append(actor, names, decision.change, check))
      } catch (error) {
        if (!(error instanceof OvertakenError)) throw error
        if (this.#elapsed() >= until)
          throw new StorageUnavailableError(
            'Cannot store the change: others change the same record again and again; try later',
          )
        // The index has the change that came first.
        isCaughtUp = true
      }
    }
  }

  /** As the index knows no revision in the middle of a plan, its tag is that from before. */
  async planTogether(
    bulk: BulkChange,
    expected: ExpectedTag | undefined,
    asker: Asker | undefined,
  ): Promise<BulkOutcome> {
    await this.#log.catchUp()
    for (;;) {
      const access = accessOf(asker)
      try {
        const tag = checkTag(this.#tag(access), expected)
        const plan = await this.#scheduler.run(TRIALS, bulk.plan(this.#stored(access)), asker?.signal)
        this.#room.checkGrowth(this.#index, plan.growth)
        if (isStillFor(asker, access)) return { ...plan, tag }
      } catch (refusal) {
        if (isStillFor(asker, access)) throw refusal
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
    if (this.#gate.isClosed) await this.#gate.pass(asker)
    let tried: BulkOutcome | undefined
    if (bulk.isPlannedAhead) {
      tried = await this.planTogether(bulk, expected, asker)
      if (changesNothing(tried)) return tried
      this.#gate.checkNotEnding()
      if (this.#gate.isClosed) await this.#gate.pass(asker)
    }
    const open = this.#gate.hold()
    try {
      for (let tries = 1; ; tries++) {
        try {
          return await this.#changeOnce(actor, bulk, expected, asker, tried)
        } catch (error) {
          if (!(error instanceof OvertakenError)) throw error
          if (tries >= IMPORT_TRIES_MAX)
            throw new StorageUnavailableError(
              `Cannot ${bulk.verb}: other nodes changed records meanwhile, again and again; nothing has changed; try later`,
            )
        }
      }
    } finally {
      open()
    }
  }

  /**
   * @param tried A plan from before: it is made if nothing has changed since.
   * @throws {OvertakenError} if any record was changed meanwhile.
   */
  async #changeOnce(
    actor: Actor,
    bulk: BulkChange,
    expected: ExpectedTag | undefined,
    asker: Asker | undefined,
    tried: BulkOutcome | undefined,
  ): Promise<BulkOutcome> {
    await Promise.all(this.#pending.values())
    await this.#log.catchUp()
    asker?.checkAgain?.()
    const access = accessOf(asker)
    const { revision } = this.#index
    const tag = checkTag(this.#tag(access), expected)
    const plan =
      tried?.tag === tag ? tried : await this.#scheduler.run(CHANGES, bulk.plan(this.#stored(access)))
    this.#room.checkGrowth(this.#index, plan.growth)
    const changes = await this.#scheduler.run(CHANGES, signedChangesOf(plan, actor, bulk.notesOf(plan)))
    if (this.#index.revision !== revision) throw new OvertakenError()
    if (changes.length === 0) return { ...plan, tag }
    const made = await this.#log.appendTogether(changes, revision, checkOf(asker, access))
    return { ...plan, tag: tagFor(access, this.#log.store, made) }
  }

  catchUp(): Promise<void> {
    return this.#log.catchUp()
  }

  close(): Promise<void> {
    return this.#gate.end()
  }

  get #index(): ConfigurationIndex {
    return this.#records.index
  }

  #tag(access: Access | undefined): string {
    return tagFor(access, this.#log.store, this.#index.revision)
  }

  #stored(access: Access | undefined) {
    const index = this.#index
    return {
      records: index.freeze(),
      access,
      find: (name: string) => index.find(name),
      lastId: index.lastId,
      memoryMax: this.#room.planMemoryMax(index),
    }
  }

  /** Settles with the changes on their way that touch any of the names; undefined if there are none. */
  #pendingOf(names: readonly string[]): Promise<unknown> | undefined {
    const pending = names.flatMap((name) => this.#pending.get(name) ?? [])
    return pending.length === 0 ? undefined : Promise.all(pending)
  }

  /** Until it has settled, no other change of these names is decided here: it would only be overtaken. */
  async #append(actor: Actor, names: readonly string[], alteration: Alteration, check: CheckChange) {
    const { promise, resolve } = Promise.withResolvers<void>()
    for (const name of names) this.#pending.set(name, promise)
    try {
      return await this.#log.append({ ...alteration, authorship: { actor, time: timestamp() } }, check)
    } finally {
      for (const name of names) this.#pending.delete(name)
      resolve()
    }
  }
}
