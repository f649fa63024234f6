import { OverloadedError } from '../errors.ts'
import { BATCH_CHANGES_MAX, WAITING_CHANGES_MAX } from '../limits.ts'
import { namesOf } from '../store/change.ts'
import { Batch, type PendingChange } from './batch.ts'
import { notTaken } from './change-refusals.ts'

/** The changes of this node that wait to be sent, in their order; an import, or the half of a batch, is a batch already. */
export class WaitingChanges {
  #waiting: (PendingChange | Batch)[] = []

  /** How many times something is to be sent, if each change goes by itself. */
  get length(): number {
    return this.#waiting.length
  }

  /** @throws {OverloadedError} if WAITING_CHANGES_MAX wait. */
  checkRoom(): void {
    if (this.#waiting.length >= WAITING_CHANGES_MAX)
      throw new OverloadedError('Cannot take another change: too many wait for etcd')
  }

  add(one: PendingChange | Batch): void {
    this.#waiting.push(one)
  }

  /** For the halves of a batch that was too large. */
  addFirst(batches: readonly Batch[]): void {
    this.#waiting = [...batches, ...this.#waiting]
  }

  /** Refuses what has waited for too long while others were sent. @param now By the monotonic clock. */
  refuseLate(now: number): void {
    const late = this.#waiting.filter(({ until }) => until <= now)
    if (late.length === 0) return
    this.#waiting = this.#waiting.filter(({ until }) => until > now)
    for (const one of late)
      if (one instanceof Batch) one.refuse(notTaken())
      else one.reject(notTaken())
  }

  /** Refuses imports, which were decided for records that others have replaced. */
  refuseImports(): void {
    for (const one of this.#waiting) if (one instanceof Batch && one.isImport) one.settle(0, [])
    this.#waiting = this.#waiting.filter((one) => !(one instanceof Batch && one.isSettled))
  }

  /** Takes the first, up to BATCH_CHANGES_MAX, none of the same name; or an import, alone. Something must wait. */
  take(): Batch {
    const [first] = this.#waiting
    if (first instanceof Batch) {
      this.#waiting = this.#waiting.slice(1)
      return first
    }
    const names = new Set<string>()
    const changes: PendingChange[] = []
    for (const pending of this.#waiting) {
      if (pending instanceof Batch || changes.length === BATCH_CHANGES_MAX) break
      const touched = namesOf(pending.change)
      if (touched.some((name) => names.has(name))) break
      for (const name of touched) names.add(name)
      changes.push(pending)
    }
    this.#waiting = this.#waiting.slice(changes.length)
    return new Batch(changes)
  }
}
