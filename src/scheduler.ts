import { LONG_WORK_TURN_MS } from './limits.ts'

/** Long work in slices: a generator that yields at least once a millisecond or so, and returns its result. */
export type LongWork<Result> = Generator<undefined, Result>

interface Task {
  /** Runs the next slice. @returns Whether it was the last. */
  step(): boolean
}

/**
 * Shares the event loop between long works: all of them together take about LONG_WORK_TURN_MS of each turn, so that
 * short requests are answered in between. The callers take turns; of one caller, the works are done one after another.
 */
export class Scheduler {
  /** By caller; the first caller is the next in turn. */
  readonly #waiting = new Map<string, Task[]>()
  #isDue = false

  /**
   * Resolves with the result of the work, or rejects with what it throws.
   *
   * @param caller Whom the work is for: an account, or the server itself.
   * @param signal Stops the work at its next slice; the promise rejects with the signal's reason.
   */
  run<Result>(caller: string, work: LongWork<Result>, signal?: AbortSignal): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const step = () => {
      try {
        signal?.throwIfAborted()
        const { done, value } = work.next()
        if (done) resolve(value)
        return done === true
      } catch (error) {
        // Runs the `finally` of a work that is stopped; does nothing after its own error.
        work.return(undefined as Result)
        reject(error)
        return true
      }
    }
    const tasks = this.#waiting.get(caller)
    if (tasks === undefined) this.#waiting.set(caller, [{ step }])
    else tasks.push({ step })
    this.#schedule()
    return promise
  }

  #schedule() {
    if (this.#isDue || this.#waiting.size === 0) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      this.#takeTurn()
      this.#schedule()
    })
  }

  #takeTurn() {
    const end = performance.now() + LONG_WORK_TURN_MS
    do {
      for (const [caller, tasks] of this.#waiting) {
        this.#waiting.delete(caller)
        if (tasks[0]?.step()) tasks.shift()
        if (tasks.length > 0) this.#waiting.set(caller, tasks)
        break
      }
    } while (this.#waiting.size > 0 && performance.now() < end)
  }
}
