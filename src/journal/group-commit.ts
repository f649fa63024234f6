import { setImmediate as nextTurn } from 'node:timers/promises'
import { OverloadedError } from '../errors.ts'
import { FRAME_CHANGES_MAX, WAITING_CHANGES_MAX } from '../limits.ts'
import type { Journal } from './journal.ts'

interface Waiting<Change> {
  readonly change: Change
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Writes changes that do not depend on each other: those that come while others are written share the next frame. */
export class GroupCommit<Change> {
  readonly #journal: Pick<Journal, 'append'>
  readonly #apply: (change: Change) => void
  readonly #waiting: Waiting<Change>[] = []
  #running: Promise<void> | undefined

  /** @param apply Called with each change once it is durable. */
  constructor(journal: Pick<Journal, 'append'>, apply: (change: Change) => void) {
    this.#journal = journal
    this.#apply = apply
  }

  /**
   * Resolves once the change is durable and applied.
   *
   * @throws {OverloadedError} if WAITING_CHANGES_MAX wait. Also what `Journal.append` throws.
   */
  async add(change: Change): Promise<void> {
    if (this.#waiting.length >= WAITING_CHANGES_MAX)
      throw new OverloadedError('Cannot take another change: too many wait for the disk')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#waiting.push({ change, resolve, reject })
    this.#running ??= this.#writeAll()
    return promise
  }

  /** Resolves when nothing waits. */
  async end(): Promise<void> {
    await this.#running
  }

  async #writeAll() {
    // So that all requests of this turn of the event loop share the first frame.
    await nextTurn()
    while (this.#waiting.length > 0) await this.#write(this.#waiting.splice(0, FRAME_CHANGES_MAX))
    this.#running = undefined
  }

  async #write(waiting: readonly Waiting<Change>[]) {
    const changes = waiting.map(({ change }) => change)
    const json = [Buffer.from(JSON.stringify(changes))]
    try {
      await this.#journal.append({ json, count: changes.length, apply: () => changes.forEach(this.#apply) })
      for (const { resolve } of waiting) resolve()
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }
}
