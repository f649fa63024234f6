import type { LongWork } from '../scheduler.ts'
import { type Access, accessOf } from './access.ts'
import type { Actor, Asker } from './authorship.ts'
import type { BulkChange, BulkPlanner, ImportPlan } from './bulk-change.ts'
import type { RecordRoom } from './record-room.ts'
import type { Records } from './records.ts'
import { TouchedRecords } from './touched-records.ts'

/** A change of many records that somebody asks for. */
export interface BulkRequest {
  readonly actor: Actor
  readonly asker: Asker | undefined
  readonly bulk: BulkChange
}

/** Without an actor it is only tried. */
export type BulkToPlan = Omit<BulkRequest, 'actor'> & Partial<Pick<BulkRequest, 'actor'>>

/**
 * The plan of a change of many, for the records as they are when it is made. Others may change meanwhile: only those are
 * decided again, however many there are.
 */
export class PlannedBulk {
  /** What the principal could see and change when it began. */
  readonly access: Access | undefined
  readonly #asker: Asker | undefined
  readonly #planner: BulkPlanner
  readonly #touched: TouchedRecords
  #isDecided = false

  /** Call `stop` in the end. @param lastId The highest id ever given. */
  constructor({ bulk, asker, actor }: BulkToPlan, records: Records, room: RecordRoom, lastId: number) {
    this.#asker = asker
    this.access = accessOf(asker)
    // Its own changes are as many as it has planned.
    this.#touched = new TouchedRecords(records, actor)
    this.#planner = bulk.planFor({
      records: records.index.freeze(),
      find: (name) => records.index.find(name),
      lastId,
      memoryMax: room.planMemoryMax(records.index),
      access: this.access,
    })
  }

  /** Whether it can still be brought up to date. */
  get isLost(): boolean {
    return this.#touched.isLost
  }

  /** Whether it is right for the records as they are now. */
  get isCurrent(): boolean {
    return !this.isLost && this.#touched.isEmpty
  }

  /** Whether the principal may see and change the same as when it began. @throws What `checkAgain` throws. */
  isStillGranted(): boolean {
    this.#asker?.checkAgain?.()
    return accessOf(this.#asker)?.key === this.access?.key
  }

  /**
   * Decides for the records as they are now; while a large change is being made, for those from before it.
   *
   * @param lastId As for the constructor.
   * @throws A refusal.
   */
  *decide(lastId: number): LongWork<ImportPlan> {
    if (!this.#isDecided) yield* this.#planner.decide()
    this.#isDecided = true
    // With half of a large change it would be right for no state at all.
    if (this.#touched.isWhole) yield* this.#planner.decideAgain(this.#touched.take())
    return yield* this.#planner.conclude(lastId)
  }

  stop(): void {
    this.#touched.stop()
  }
}
