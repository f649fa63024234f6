import { OverloadedError, StorageUnavailableError } from '../errors.ts'
import { WAITING_CHANGES_MAX } from '../limits.ts'
import type { LongWork, Scheduler } from '../scheduler.ts'
import type { Asker } from './authorship.ts'
import { CHANGES } from './slices.ts'

interface Waiting {
  readonly pass: () => void
}

/**
 * Lets one large import at a time decide about all records. Changes that come meanwhile wait, and pass in the order in
 * which they came, in slices; one may be the next large import, for which those behind it wait again.
 */
export class LargeImportGate {
  readonly #scheduler: Pick<Scheduler, 'run'>
  readonly #waiting = new Set<Waiting>()
  #isHeld = false
  #isReleasing = false
  #isEnding = false
  /** Called once nobody holds the gate or waits. */
  #idle: (() => void)[] = []

  constructor(scheduler: Pick<Scheduler, 'run'>) {
    this.#scheduler = scheduler
  }

  /** Whether a change must call `pass` before it is decided. */
  get isClosed(): boolean {
    return this.#isHeld || this.#isReleasing
  }

  /**
   * Resolves when it is the turn of a change; it must be decided at once.
   *
   * @param asker Its change leaves when it has gone.
   * @throws {OverloadedError} if too many changes wait. Also the reason of the signal.
   */
  async pass(asker?: Pick<Asker, 'signal'>): Promise<void> {
    if (this.#waiting.size >= WAITING_CHANGES_MAX)
      throw new OverloadedError('Cannot take another change: too many wait for an import to end')
    const signal = asker?.signal
    signal?.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting = { pass: resolve }
    const leave = () => {
      if (this.#waiting.delete(waiting)) reject(signal?.reason)
    }
    this.#waiting.add(waiting)
    signal?.addEventListener('abort', leave, { once: true })
    await promise
    signal?.removeEventListener('abort', leave)
  }

  /** Closes the gate for a large import. @returns Opens it again. */
  hold(): () => void {
    this.#isHeld = true
    return () => {
      this.#isHeld = false
      if (this.#isReleasing) return
      this.#isReleasing = true
      void this.#scheduler.run(CHANGES, this.#release())
    }
  }

  /** @throws {StorageUnavailableError} once the store is being closed. */
  checkNotEnding(): void {
    if (this.#isEnding)
      throw new StorageUnavailableError('Cannot store the change: the store is being closed')
  }

  /** Refuses further changes. Resolves when no large import is under way, and no change waits for one. */
  async end(): Promise<void> {
    this.#isEnding = true
    while (this.isClosed) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#idle.push(resolve)
      await promise
    }
  }

  *#release(): LongWork<void> {
    for (const waiting of this.#waiting) {
      // The next large import.
      if (this.#isHeld) break
      this.#waiting.delete(waiting)
      waiting.pass()
      yield
    }
    this.#isReleasing = false
    if (this.#isHeld) return
    for (const resolve of this.#idle.splice(0)) resolve()
  }
}
