import { OverloadedError } from '../errors.ts'
import { WAITING_CHANGES_MAX } from '../limits.ts'
import type { ShortWorkScheduler } from '../scheduler.ts'
import type { Asker } from './large-import-gate.ts'
import { CHANGES } from './long-works.ts'

/** Changes that wait until the storage can take their form. They are not decided yet, so others overtake them. */
export class PreparingChanges {
  readonly #scheduler: ShortWorkScheduler
  /** What each of them waits for. */
  readonly #waiting = new Map<symbol, Promise<void>>()

  constructor(scheduler: ShortWorkScheduler) {
    this.#scheduler = scheduler
  }

  /** Whether a change waits. */
  get isInUse(): boolean {
    return this.#waiting.size > 0
  }

  /**
   * Resolves when a change may be decided; it must be decided at once.
   *
   * @param prepared What `ChangeLog.prepare` returned.
   * @throws {OverloadedError} if too many changes wait. Also what `prepared` rejects with, the reason of the signal, and
   *   what `checkAgain` rejects with.
   */
  async pass(prepared: Promise<void>, asker?: Asker): Promise<void> {
    if (this.#waiting.size >= WAITING_CHANGES_MAX)
      throw new OverloadedError('Cannot take another change: too many wait for the disk')
    const change = Symbol('a change')
    this.#waiting.set(change, prepared)
    try {
      await prepared
      asker?.signal.throwIfAborted()
      const ended = asker?.checkAgain?.()
      if (ended !== undefined) await ended
    } finally {
      this.#waiting.delete(change)
    }
  }

  /** Resolves when no change waits, and those that did are decided. */
  async idle(): Promise<void> {
    while (this.isInUse) {
      await Promise.allSettled(this.#waiting.values())
      // Those that pass are decided in this turn of the event loop.
      await this.#scheduler.once(CHANGES, () => {})
    }
  }
}
