import { setImmediate as nextTurn } from 'node:timers/promises'
import { recordMemoryMax } from '../budget.ts'
import { OverloadedError, OvertakenError, StorageFullError, StorageUnavailableError } from '../errors.ts'
import { WAITING_CHANGES_MAX } from '../limits.ts'
import type { Scheduler } from '../scheduler.ts'
import { timestamp } from '../timestamp.ts'
import type { Access } from './access.ts'
import type { Actor, Asker } from './authorship.ts'
import { type BulkChange, changesNothing } from './bulk-change.ts'
import type { Change } from './change.ts'
import type { ChangeLog, Commit, Committed } from './change-log.ts'
import type { Configuration } from './configuration.ts'
import type { ConfigurationIndex } from './configuration-index.ts'
import { DecidedChanges, type WaitingChange } from './decided-changes.ts'
import { type BulkOutcome, checkTag, type Decide, type ExpectedTag, tagFor } from './decisions.ts'
import { signedChangesOf } from './import-plan.ts'
import { type BulkRequest, type BulkToPlan, PlannedBulk } from './planned-bulk.ts'
import { RecordRoom } from './record-room.ts'
import type { Records } from './records.ts'
import { CHANGES, TRIALS } from './slices.ts'

/** How long changes are decided before those that have been are committed. */
const DECISION_MS = 5
/** How many are decided between looks at the clock. */
const DECISIONS_A_LOOK = 32
/** How often a change of many is planned before its turn; then it is planned in its turn. */
const PLANS_AHEAD_MAX = 3
/** How often a change of many is decided anew when others are faster each time. */
export const BULK_TRIES_MAX = 5
/** How long a change is decided anew when others are faster each time. */
export const OVERTAKEN_MS_MAX = 10_000

/** A change of many that waits for its turn, which it has alone. */
interface WaitingBulk {
  readonly asker: Asker | undefined
  readonly take: () => Promise<void>
  readonly reject: (error: unknown) => void
}

/**
 * Decides each change when its turn comes: for the latest state, and by what its principal may do then. What waits is
 * decided together, committed together, and answered once it is durable; so even a refusal tells only of what is durable.
 * What the log refuses touches nothing that waits behind it.
 */
export class Writer {
  readonly #records: Records
  readonly #log: ChangeLog
  readonly #scheduler: Scheduler
  readonly #room: RecordRoom
  readonly #elapsed: () => number
  #waiting: (WaitingChange | WaitingBulk)[] = []
  #running: Promise<void> | undefined
  /** Changes of many that are planned, or wait for their turn, or are made. */
  readonly #bulks = new Set<Promise<unknown>>()
  /** Whether a change of many has its turn. Then who waits behind it, and has gone, leaves room for others. */
  #isAlone = false
  #isClosing = false
  /** The highest id ever given, to a change that failed, too: the disk may have kept it. */
  #lastId: number
  /** How many changes are committed at most: fewer after each time that others were faster. */
  #togetherMax: number

  /**
   * @param log Applies to `records` what it commits.
   * @param recordBytesMax Memory for records.
   * @param elapsed Milliseconds of a monotonic clock.
   */
  constructor(
    records: Records,
    log: ChangeLog,
    scheduler: Scheduler,
    recordBytesMax = recordMemoryMax(),
    elapsed: () => number = () => performance.now(),
  ) {
    this.#records = records
    this.#log = log
    this.#scheduler = scheduler
    this.#room = new RecordRoom(recordBytesMax)
    this.#elapsed = elapsed
    this.#lastId = records.index.lastId
    this.#togetherMax = log.namesMax
  }

  /**
   * Makes a decision in its turn, and resolves once what it made is durable.
   *
   * @param decide Called in the turn; again if others were faster.
   * @throws What `decide` throws, and `ChangeLog.commit`.
   * @throws {OverloadedError} if WAITING_CHANGES_MAX wait. {MemoryFullError} if there is no memory for the change.
   * @throws {StorageUnavailableError} if the store is being closed.
   */
  submit<Outcome>(actor: Actor, asker: Asker | undefined, decide: Decide<Outcome>): Promise<Outcome> {
    return new Promise<unknown>((resolve, reject) => {
      this.#checkOpen()
      this.#enqueue({ actor, asker, decide, sinceMs: this.#elapsed(), wasOvertaken: false, resolve, reject })
    }) as Promise<Outcome>
  }

  /** What a change of many would do now. See `ConfigurationStore.planTogether`. */
  async plan(
    bulk: BulkChange,
    expected: ExpectedTag | undefined,
    asker: Asker | undefined,
  ): Promise<BulkOutcome> {
    for (;;) {
      const { planned, outcome } = await this.#planAhead({ bulk, asker }, expected)
      planned.stop()
      if (outcome !== undefined) return outcome
    }
  }

  /** See `ConfigurationStore.changeTogether`. */
  async submitBulk(request: BulkRequest, expected: ExpectedTag | undefined): Promise<BulkOutcome> {
    this.#checkOpen()
    // An actor of its own tells its changes from all others.
    const making = this.#planAndMake({ ...request, actor: { ...request.actor } }, expected)
    this.#bulks.add(making)
    return making.finally(() => this.#bulks.delete(making))
  }

  /** As `ChangeLog.catchUp`. */
  catchUp(): Promise<void> | undefined {
    return this.#log.catchUp()
  }

  /** Refuses further changes. Resolves once those that came before have been made or refused. */
  async close(): Promise<void> {
    this.#isClosing = true
    // One that is still planned comes to its turn later.
    while (this.#bulks.size > 0) await Promise.allSettled(this.#bulks)
    await this.#running
  }

  get #index(): ConfigurationIndex {
    return this.#records.index
  }

  #tag(access: Access | undefined): string {
    return tagFor(access, this.#log.store, this.#index.revision)
  }

  get #latestId(): number {
    return Math.max(this.#lastId, this.#index.lastId)
  }

  #checkOpen() {
    if (this.#isClosing)
      throw new StorageUnavailableError('Cannot store the change: the store is being closed')
  }

  #enqueue(waiting: WaitingChange | WaitingBulk) {
    if (this.#isAlone && this.#waiting.length >= WAITING_CHANGES_MAX) this.#dropGone()
    if (this.#waiting.length >= WAITING_CHANGES_MAX)
      throw new OverloadedError('Cannot take another change: too many are waiting')
    this.#waiting.push(waiting)
    this.#log.linger?.came()
    this.#running ??= this.#work()
  }

  /** Whoever has gone leaves. */
  #dropGone() {
    this.#waiting = this.#waiting.filter(({ asker, reject }) => {
      if (asker?.signal?.aborted) reject(asker.signal.reason)
      return !asker?.signal?.aborted
    })
  }

  async #work() {
    // So that all requests of this turn of the event loop share the first commit.
    await nextTurn()
    while (this.#waiting.length > 0) {
      await this.#log.linger?.complete(() => this.#waiting.length, this.#elapsed)
      await this.#log.prepare()
      const [first] = this.#waiting
      if (first !== undefined && 'take' in first) await this.#makeAlone(first)
      else await this.#makeTogether()
    }
    // No await since the queue was found empty, so the next change starts a new run.
    this.#running = undefined
  }

  async #makeAlone(bulk: WaitingBulk) {
    this.#waiting.shift()
    this.#isAlone = true
    try {
      await bulk.take()
    } finally {
      this.#isAlone = false
    }
    // Its caller hears of it before others are decided.
    await nextTurn()
    // It may have taken long.
    this.#dropGone()
  }

  /** Decides what waits, up to the next change of many, commits it, and answers. */
  async #makeTogether() {
    this.#refuseLate()
    let batch = this.#decideTogether()
    let made: readonly Change[] = []
    try {
      // A refusal must not tell of a state that is not the latest.
      const catchingUp = batch.isAllChanges ? undefined : this.#log.catchUp()
      if (catchingUp !== undefined) {
        await catchingUp
        this.#waiting.unshift(...batch.waiting)
        // Those that have come since then may know of changes that the records have not.
        batch = this.#decideTogether(batch.waiting.length)
      }
      if (batch.changes.length > 0) made = await this.#commit(batch)
    } catch (error) {
      return this.#failed(batch.waiting, error)
    }
    await this.#scheduler.runNow(CHANGES, batch.answers(made))
  }

  /** Refuses what has waited for too long while others were committed. */
  #refuseLate() {
    const { waitMsMax } = this.#log
    if (waitMsMax === undefined) return
    const sinceMs = this.#elapsed() - waitMsMax
    const isLate = (one: WaitingChange | WaitingBulk) => 'sinceMs' in one && one.sinceMs <= sinceMs
    refuse(
      this.#waiting.filter(isLate),
      new StorageUnavailableError('Cannot store the change: those before it took too long; try later'),
    )
    this.#waiting = this.#waiting.filter((one) => !isLate(one))
  }

  /**
   * Takes what waits, up to the next change of many, as far as it fits together. What does not comes first next time.
   *
   * @param triesMax How many it looks at.
   */
  #decideTogether(triesMax = Number.POSITIVE_INFINITY): DecidedChanges {
    const batch = new DecidedChanges(this.#index, this.#latestId, timestamp())
    const endMs = performance.now() + DECISION_MS
    const left: WaitingChange[] = []
    let tried = 0
    for (const waiting of this.#waiting) {
      if ('take' in waiting || tried >= triesMax || batch.waiting.length >= this.#togetherMax) break
      if (batch.names.size >= this.#log.namesMax) break
      if (tried % DECISIONS_A_LOOK === DECISIONS_A_LOOK - 1 && performance.now() >= endMs) break
      tried += 1
      if (!batch.decide(waiting, this.#room, this.#log)) left.push(waiting)
    }
    this.#waiting.splice(0, tried, ...left)
    return batch
  }

  /** @returns The changes as they were made. */
  async #commit(batch: DecidedChanges): Promise<readonly Change[]> {
    const { changes, lastId, sinceMs } = batch
    const beginMs = this.#elapsed()
    const check = () => batch.check()
    const { changes: made } = await this.#commitWith(lastId, { changes, isBulk: false, sinceMs, check })
    this.#lastId = lastId
    this.#togetherMax = this.#log.namesMax
    this.#log.linger?.ended(batch.waiting.length + this.#waiting.length, beginMs, this.#elapsed())
    return made
  }

  /** Commits. A disk that fails at that may have kept a change: its id is not given again. @param lastId After it. */
  async #commitWith(lastId: number, commit: Commit): Promise<Committed> {
    const { isWritable } = this.#log
    try {
      return await this.#log.commit(commit)
    } catch (error) {
      const mayBeKept = error instanceof StorageFullError || error instanceof StorageUnavailableError
      if (isWritable && mayBeKept) this.#lastId = lastId
      throw error
    }
  }

  /**
   * Refuses changes that could not be committed. If others were faster, they are decided again, half of them at a time: one
   * that others change again and again must not keep the rest from being made.
   */
  async #failed(waiting: readonly WaitingChange[], error: unknown) {
    if (!(error instanceof OvertakenError)) {
      refuse(waiting, error)
      // Their callers hear of it before others are decided.
      await nextTurn()
      return
    }
    this.#togetherMax = Math.max(1, Math.floor(waiting.length / 2))
    const sinceMs = this.#elapsed() - OVERTAKEN_MS_MAX
    // Behind a large import, it may have waited for long before its first turn.
    const isLate = (one: WaitingChange) => one.wasOvertaken && one.sinceMs <= sinceMs
    const late = waiting.filter(isLate)
    const again = waiting.filter((one) => !isLate(one))
    for (const one of again) one.wasOvertaken = true
    refuse(
      late,
      new StorageUnavailableError(
        'Cannot store the change: others change the same record again and again; try later',
      ),
    )
    try {
      await this.#log.catchUp()
      this.#waiting.unshift(...again)
    } catch (reason) {
      refuse(again, reason)
    }
  }

  /** @returns Without an outcome if what the principal may see or change is another by now. */
  async #planAhead(request: BulkToPlan, expected: ExpectedTag | undefined) {
    await this.#log.catchUp()
    const planned = new PlannedBulk(request, this.#records, this.#room, this.#latestId)
    try {
      const tag = checkTag(this.#tag(planned.access), expected)
      const plan = await this.#scheduler.run(TRIALS, planned.decide(this.#latestId), request.asker?.signal)
      this.#room.checkGrowth(this.#index, plan.growth)
      return { planned, outcome: planned.isStillGranted() ? { ...plan, tag } : undefined }
    } catch (refusal) {
      planned.stop()
      if (planned.isStillGranted()) throw refusal
      return { planned, outcome: undefined }
    }
  }

  async #planAndMake(request: BulkRequest, expected: ExpectedTag | undefined): Promise<BulkOutcome> {
    for (let tries = 1; ; tries += 1) {
      request.asker?.checkAgain?.()
      this.#log.checkWritable(request.bulk.verb)
      if (tries > PLANS_AHEAD_MAX) {
        const outcome = await this.#inTurn(request, expected, undefined)
        if (outcome !== undefined) return outcome
        continue
      }
      const { planned, outcome: ahead } = await this.#planAhead(request, expected)
      try {
        const isDone = ahead !== undefined && changesNothing(ahead) && planned.isCurrent
        // Others may have done the same meanwhile: then the records are not the expected ones any more.
        if (isDone && (expected === undefined || ahead.tag === this.#tag(planned.access))) return ahead
        const outcome = ahead && (await this.#inTurn(request, expected, planned))
        if (outcome !== undefined) return outcome
      } finally {
        planned.stop()
      }
    }
  }

  /** Makes a change of many in its turn. @returns Undefined if its plan is of no use any more. */
  #inTurn(
    request: BulkRequest,
    expected: ExpectedTag | undefined,
    ahead: PlannedBulk | undefined,
  ): Promise<BulkOutcome | undefined> {
    const { asker } = request
    const { promise, resolve, reject } = Promise.withResolvers<BulkOutcome | undefined>()
    const take = () => this.#makeBulk(request, expected, ahead).then(resolve, reject)
    this.#enqueue({ asker, take, reject })
    return promise
  }

  async #makeBulk(
    request: BulkRequest,
    expected: ExpectedTag | undefined,
    ahead: PlannedBulk | undefined,
  ): Promise<BulkOutcome | undefined> {
    const { asker, bulk } = request
    asker?.signal?.throwIfAborted()
    for (let tries = 1; ; tries += 1) {
      await this.#log.catchUp()
      asker?.checkAgain?.()
      this.#log.checkWritable(bulk.verb)
      if (ahead !== undefined && (ahead.isLost || !ahead.isStillGranted())) return undefined
      const planned = ahead ?? new PlannedBulk(request, this.#records, this.#room, this.#latestId)
      try {
        return await this.#commitBulk(request, expected, planned)
      } catch (error) {
        if (!(error instanceof OvertakenError)) throw error
        if (tries >= BULK_TRIES_MAX)
          throw new StorageUnavailableError(
            `Cannot ${bulk.verb}: other nodes changed records meanwhile, again and again; nothing has changed; try later`,
          )
      } finally {
        if (planned !== ahead) planned.stop()
      }
    }
  }

  /** @throws {OvertakenError} if records have changed meanwhile, or what the principal may see or change. */
  async #commitBulk(
    { actor, bulk }: BulkRequest,
    expected: ExpectedTag | undefined,
    planned: PlannedBulk,
  ): Promise<BulkOutcome> {
    const { revision } = this.#index
    const { access } = planned
    const tag = checkTag(this.#tag(access), expected)
    const lastId = this.#latestId
    const plan = await this.#scheduler.runNow(CHANGES, planned.decide(lastId))
    this.#room.checkGrowth(this.#index, plan.growth)
    const changes = await this.#scheduler.runNow(CHANGES, signedChangesOf(plan, actor, bulk.notesOf(plan)))
    if (this.#index.revision !== revision) throw new OvertakenError()
    if (changes.length === 0) return { ...plan, tag }
    const check = () => {
      if (!planned.isStillGranted()) throw new OvertakenError()
    }
    const commit = { changes, isBulk: true, sinceMs: this.#elapsed(), check }
    const committed = await this.#commitWith(plan.added.at(-1)?.id ?? lastId, commit)
    // A log that gives other ids gives other changes.
    const added = committed.changes === changes ? plan.added : recordsAdded(committed.changes)
    return { ...plan, added, tag: tagFor(access, this.#log.store, committed.revision) }
  }
}

function refuse(waiting: readonly (WaitingChange | WaitingBulk)[], error: unknown) {
  for (const { reject } of waiting) reject(error)
}

function recordsAdded(changes: readonly Change[]): Configuration[] {
  return changes.flatMap((change) => ('add' in change ? [change.add] : []))
}
