import { LONG_WORK_TURN_MS } from './limits.ts'

/** Long work in slices: a generator that yields at least once a millisecond or so, and returns its result. */
export type LongWork<Result> = Generator<undefined, Result>

/** The caller of works for which everybody waits: it gets every second slice, however many others there are. */
export const FOR_ALL = 'all'

/** @returns Whether it was the last slice. */
type Step = () => boolean

/**
 * Shares the event loop between long works: all of them together take about LONG_WORK_TURN_MS of each turn, so that
 * short requests are answered in between. The callers take turns; of one caller, the works are done one after another.
 *
 * What follows a work at once, after `await`, counts as part of its last slice.
 */
export class Scheduler {
  /** By caller; the first caller is the next in turn. */
  readonly #callers = new Map<string, CallersWorks>()
  /** To be called at the end of the present turn. */
  #later: (() => void)[] = []
  #isDue = false
  #isInTurn = false
  #turnEnd = 0
  /** Whether the next slice is for FOR_ALL, if there is such work. */
  #isFirstsTurn = false
  /** Whether a connection was accepted since the last look. */
  #hasNewConnection = false

  /**
   * Resolves with the result of the work, or rejects with what it throws. A work that waits has not begun.
   *
   * @param caller Whom the work is for: an account, or the server itself.
   * @param signal Stops the work before its next slice, and runs its `finally`; the promise rejects with the reason.
   */
  run<Result>(caller: string, work: LongWork<Result>, signal?: AbortSignal): Promise<Result> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const { longs } = this.#worksOf(caller)
    let isRunning = false
    const fail = (error: unknown) => {
      signal?.removeEventListener('abort', stop)
      reject(error)
    }
    const stop = () => {
      // If it is aborted during a slice, `step` stops it after that.
      if (isRunning) return
      longs.delete(step)
      work.return(undefined as Result)
      fail(signal?.reason)
    }
    const step = () => {
      isRunning = true
      try {
        const { done, value } = work.next()
        isRunning = false
        if (signal?.aborted) stop()
        else if (done) {
          signal?.removeEventListener('abort', stop)
          resolve(value)
        }
        return done === true
      } catch (error) {
        fail(error)
        return true
      }
    }
    longs.add(step)
    signal?.addEventListener('abort', stop, { once: true })
    return promise
  }

  /**
   * Does a short work, of one slice. The short works of a caller are done in order, and alternate with its long works.
   * One that is added during a turn waits for the next, so that a chain of them lets the event loop come round.
   */
  once<Result>(caller: string, work: () => Result): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const step = () => {
      try {
        resolve(work())
      } catch (error) {
        reject(error)
      }
      return true
    }
    const add = () => void this.#worksOf(caller).shorts.push(step)
    if (this.#isInTurn) this.#later.push(add)
    else add()
    return promise
  }

  /**
   * Lets a paused socket go on, as a short work that ends the turn: what the socket has received is read after it, and
   * that takes longer than the work.
   */
  resume(caller: string, socket: { resume(): unknown }): void {
    void this.once(caller, () => {
      this.#turnEnd = 0
      socket.resume()
    })
  }

  /**
   * Call it for each new connection. libuv accepts one in each turn of the event loop, so the works wait while more come: at
   * most twice as long as they take then.
   */
  giveWay(): void {
    this.#hasNewConnection = true
  }

  #worksOf(caller: string): CallersWorks {
    let works = this.#callers.get(caller)
    if (works === undefined) {
      works = new CallersWorks()
      this.#callers.set(caller, works)
    }
    this.#schedule()
    return works
  }

  #schedule() {
    if (this.#isDue) return
    this.#isDue = true
    const waitEnd = performance.now() + 2 * LONG_WORK_TURN_MS
    const begin = () => {
      if (this.#hasNewConnection && performance.now() < waitEnd) {
        this.#hasNewConnection = false
        setImmediate(begin)
        return
      }
      this.#isInTurn = true
      this.#turnEnd = performance.now() + LONG_WORK_TURN_MS
      this.#takeSlice()
    }
    setImmediate(begin)
  }

  readonly #takeSlice = () => {
    const caller = this.#nextCaller()
    const works = this.#callers.get(caller)
    works?.step()
    const isLast = works === undefined || works.isEmpty
    // Alone, a caller keeps its place: to put it last anew makes the map allocate, among what lasts.
    if (isLast || this.#callers.size > 1) this.#callers.delete(caller)
    if (!isLast) this.#callers.set(caller, works)
    afterContinuations(this.#goOn)
  }

  #nextCaller(): string {
    this.#isFirstsTurn = !this.#isFirstsTurn
    if (this.#isFirstsTurn && this.#callers.has(FOR_ALL)) return FOR_ALL
    const [caller = ''] = this.#callers.keys()
    return caller
  }

  readonly #goOn = () => {
    if (this.#callers.size > 0 && performance.now() < this.#turnEnd) this.#takeSlice()
    else this.#endTurn()
  }

  #endTurn() {
    this.#isInTurn = false
    this.#isDue = false
    for (const add of this.#later.splice(0)) add()
    if (this.#callers.size > 0) this.#schedule()
  }
}

/** What a part needs that has only short works. */
export type ShortWorkScheduler = Pick<Scheduler, 'once'>

/** Of one caller. */
class CallersWorks {
  readonly shorts: Step[] = []
  /** The first is in progress. */
  readonly longs = new Set<Step>()
  #isLongNext = false

  get isEmpty(): boolean {
    return this.shorts.length === 0 && this.longs.size === 0
  }

  /** One slice. */
  step(): void {
    const [long] = this.longs
    const short = this.#isLongNext && long !== undefined ? undefined : this.shorts.shift()
    this.#isLongNext = short !== undefined
    if (short !== undefined) short()
    else if (long?.()) this.longs.delete(long)
  }
}

/** Calls back when all that waits for a promise has run; the next tick of a microtask comes after all microtasks. */
function afterContinuations(callback: () => void) {
  queueMicrotask(() => process.nextTick(callback))
}

/** Does a whole work at once, where nobody else waits for the event loop. */
export function runAtOnce<Result>(work: LongWork<Result>): Result {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}
