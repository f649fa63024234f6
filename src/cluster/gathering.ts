import type { Linger } from '../store/change-log.ts'
import { BATCH_NAMES_MAX } from './batch.ts'

/**
 * How long a batch waits for more changes, at most. The first of them must come in a share of that, each later one after a
 * pause.
 */
export const GATHERING_MS_MAX = 50
export const GATHERING_FIRST_SHARE = 1 / 8
export const GATHERING_PAUSE_MS = 2

/**
 * Says for how long a batch waits for more changes. Callers whose changes have just been made send their next ones soon.
 * Without a wait, the first of them would go alone, and all others wait for its batch. Each batch costs etcd as much as 20 to
 * 40 changes in it.
 */
export class Gathering implements Linger {
  /** How many callers there may be. */
  #expected = 0
  /** When the wait ends, by the clock of the caller, in milliseconds. */
  #until = Number.NEGATIVE_INFINITY
  /** In what time the first must come, in milliseconds. */
  #firstMs = 0
  #came = () => {}

  /**
   * Call it when a batch has ended.
   *
   * @param callers How many changes it had, and how many wait.
   * @param begin When it was sent, in milliseconds, as `end`.
   */
  ended(callers: number, begin: number, end: number): void {
    this.#expected = Math.min(callers, BATCH_NAMES_MAX)
    const waitMs = Math.min(2 * (end - begin), GATHERING_MS_MAX)
    this.#until = end + waitMs
    this.#firstMs = Math.max(waitMs * GATHERING_FIRST_SHARE, GATHERING_PAUSE_MS)
  }

  /** Call it when a change has come. */
  came(): void {
    this.#came()
  }

  /**
   * Resolves when a change of each caller waits, no more come for GATHERING_PAUSE_MS, or the wait has taken twice as long as
   * the last batch. Callers that were answered together send close together; others who come by chance are not waited for.
   */
  async complete(waiting: () => number, now: () => number): Promise<void> {
    const isOver = () => waiting() >= this.#expected || now() >= this.#until
    if (isOver()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    // In this turn of the event loop, the callers get their answers; before that they cannot send.
    let hasCome = true
    let pauseMs = this.#firstMs
    let timer: NodeJS.Timeout | undefined
    let turn: NodeJS.Immediate | undefined
    // A timer counts from the begin of a turn: it is set in one in which nothing has come, and which was short.
    const begin = () => {
      if (!hasCome) timer = setTimeout(end, pauseMs)
      else turn = setImmediate(begin)
      hasCome = false
    }
    // What has arrived while this process was busy is read only in the next turn.
    const end = () => {
      turn = setImmediate(() => (hasCome ? begin() : resolve()))
    }
    this.#came = () => {
      hasCome = true
      pauseMs = GATHERING_PAUSE_MS
      if (isOver()) resolve()
    }
    turn = setImmediate(begin)
    await promise
    clearTimeout(timer)
    clearImmediate(turn)
    this.#came = () => {}
  }
}
