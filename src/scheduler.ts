/** What long work takes of each turn of the event loop. */
export const LONG_WORK_TURN_MS = 3
/** What a caller, or one of its works, may use before the next one has its turn. */
const QUANTUM_MS = 1

/** A slice may be long because the system was busy with something else. */
const DEBT_MAX_MS = 20

/** Tasks of one caller that run at a time; the others wait, so that what is half done takes little memory. */
const WORKS_IN_PROGRESS_MAX = 8

/** A slice looks at the clock after so many steps at most: a look takes as long as some of the shortest ones. */
const STEPS_A_LOOK_MAX = 64
/** If the steps since the last look took longer, the next look comes after one step. */
const LOOK_MS = QUANTUM_MS / 16

/**
 * Long work: a generator that yields after each step, and returns its result. A step is a record, or another small unit. The
 * scheduler says how many of them are a slice.
 */
export type LongWork<Result> = Generator<undefined, Result>

/** The caller of works for which everybody waits: it gets half of the time, however many others there are. */
export const FOR_ALL = 'all'

/**
 * Shares the event loop between long works: all of them together take about LONG_WORK_TURN_MS of each turn, so that
 * short requests are answered in between. The callers share the time equally, and so do the works of one caller, however
 * long their slices are: deficit round robin (M. Shreedhar and G. Varghese, "Efficient Fair Queueing Using Deficit Round
 * Robin", 1995).
 *
 * What follows a work at once, after `await`, counts as part of its last slice.
 */
export class Scheduler {
  readonly #turnMs: number
  readonly #callers = new Map<string, CallersWorks>()
  readonly #forAll = new CallersWorks()
  /** To be called at the end of the present turn. */
  #later: (() => void)[] = []
  #isDue = false
  #isInTurn = false
  #turnEnd = 0
  /** Whether the slice let a socket go on. */
  #hasResumed = false
  /** How much longer the works of FOR_ALL have taken than those of others meanwhile, in milliseconds. */
  #leadMs = 0
  /** Whether a connection was accepted since the last look. */
  #hasNewConnection = false

  /** @param turnMs What long work takes of each turn; 0 for one step, for tests. */
  constructor(turnMs = LONG_WORK_TURN_MS) {
    this.#turnMs = turnMs
  }

  /**
   * Resolves with the result of the work, or rejects with what it throws. A work that waits has not begun.
   *
   * @param caller Whom the work is for: an account, or the server itself.
   * @param signal Stops the work before its next slice, and runs its `finally`; the promise rejects with the reason.
   */
  run<Result>(caller: string, work: LongWork<Result>, signal?: AbortSignal): Promise<Result> {
    if (signal?.aborted) return Promise.reject(signal.reason)
    const works = this.#worksOf(caller)
    const long = new Work(work, this.#newClock(), (ended) => works.remove(ended), signal)
    works.add(long)
    return long.result
  }

  /** As `run`, but the first slice is done at once, so that a short work costs no turn of the event loop. */
  runNow<Result>(caller: string, work: LongWork<Result>): Promise<Result> {
    let works: CallersWorks | undefined
    const long = new Work(work, this.#newClock(), (ended) => works?.remove(ended))
    long.step()
    if (!long.isOver) {
      works = this.#worksOf(caller)
      works.add(long)
    }
    return long.result
  }

  /**
   * Does a short work, of one slice. The short works of a caller are done in order; together they count as one work.
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
    }
    const add = () => this.#worksOf(caller).addShort(step)
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
      this.#hasResumed = true
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

  #newClock(): SliceClock {
    return new SliceClock(Math.min(QUANTUM_MS, this.#turnMs))
  }

  #worksOf(caller: string): CallersWorks {
    this.#schedule()
    if (caller === FOR_ALL) return this.#forAll
    let works = this.#callers.get(caller)
    if (works === undefined) {
      works = new CallersWorks()
      this.#callers.set(caller, works)
    }
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
      this.#turnEnd = performance.now() + this.#turnMs
      this.#takeSlice()
    }
    setImmediate(begin)
  }

  readonly #takeSlice = () => {
    const works = this.#nextCaller()
    if (works === undefined) return this.#endTurn()
    const begin = performance.now()
    works.step()
    afterContinuations(() => {
      const now = performance.now()
      // What a socket has received is read after the turn, where its time is not known.
      this.#charge(works, this.#hasResumed ? Math.max(now - begin, QUANTUM_MS) : now - begin)
      this.#hasResumed = false
      if (now < this.#turnEnd) this.#takeSlice()
      else this.#endTurn()
    })
  }

  #nextCaller(): CallersWorks | undefined {
    const next = nextInTurn(this.#callers)
    if (next !== undefined && !this.#forAll.isIdle) return this.#leadMs <= 0 ? this.#forAll : next
    this.#leadMs = 0
    return next ?? (this.#forAll.isIdle ? undefined : this.#forAll)
  }

  #charge(works: CallersWorks, ms: number) {
    works.charge(ms)
    this.#leadMs += works === this.#forAll ? ms : -ms
  }

  #endTurn() {
    this.#isInTurn = false
    this.#isDue = false
    for (const add of this.#later.splice(0)) add()
    if (this.#callers.size > 0 || !this.#forAll.isIdle) this.#schedule()
  }
}

/** Says when a slice is over, for long work that is done step by step. */
export class SliceClock {
  readonly #ms: number
  #lookMs = 0
  #endMs = 0
  #stepsALook = 1
  #stepsLeft = 1

  constructor(ms = QUANTUM_MS) {
    this.#ms = ms
  }

  begin(): void {
    this.#lookMs = performance.now()
    this.#endMs = this.#lookMs + this.#ms
    this.#stepsLeft = this.#stepsALook
  }

  /** Call it after each step. Looks at the clock after one step, then after 2, 4, 8 more and so on, while they are short. */
  isOverAfterStep(): boolean {
    this.#stepsLeft -= 1
    if (this.#stepsLeft > 0) return false
    const now = performance.now()
    const areShort = now - this.#lookMs < Math.min(this.#ms, LOOK_MS)
    this.#stepsALook = areShort ? Math.min(2 * this.#stepsALook, STEPS_A_LOOK_MAX) : 1
    this.#stepsLeft = this.#stepsALook
    this.#lookMs = now
    return now >= this.#endMs
  }
}

/** What a part needs that has only short works. */
export type ShortWorkScheduler = Pick<Scheduler, 'once'>

/** What shares time with others of its kind. */
abstract class Sharer {
  /** What it may still use in this round, in milliseconds; negative after a slice that took longer. */
  creditMs = QUANTUM_MS
  abstract get isIdle(): boolean
  /** Does a slice. */
  abstract step(): void

  charge(ms: number): void {
    this.creditMs = Math.max(this.creditMs - ms, -DEBT_MAX_MS)
  }
}

/** Finds whose turn it is. Who is idle and in debt stays for as many rounds as its debt takes. */
function nextInTurn<Key, Kind extends Sharer>(sharers: Map<Key, Kind>): Kind | undefined {
  for (const [key, sharer] of sharers) {
    // Alone, it keeps its place: to put it last anew makes the map allocate, among what lasts.
    if (sharers.size === 1) sharer.creditMs = QUANTUM_MS
    if (sharer.creditMs > 0 && !sharer.isIdle) return sharer
    sharers.delete(key)
    if (sharer.creditMs > 0) continue
    sharer.creditMs += QUANTUM_MS
    sharers.set(key, sharer)
  }
  return undefined
}

/** A long work. */
class Work<Result> extends Sharer {
  readonly isIdle = false
  readonly #work: LongWork<Result>
  readonly #clock: SliceClock
  readonly #onEnd: (ended: Sharer) => void
  readonly #signal: AbortSignal | undefined
  readonly #settle = Promise.withResolvers<Result>()
  #isRunning = false
  #isOver = false

  constructor(
    work: LongWork<Result>,
    clock: SliceClock,
    onEnd: (ended: Sharer) => void,
    signal?: AbortSignal,
  ) {
    super()
    this.#work = work
    this.#clock = clock
    this.#onEnd = onEnd
    this.#signal = signal
    signal?.addEventListener('abort', this.#stop, { once: true })
  }

  get result(): Promise<Result> {
    return this.#settle.promise
  }

  get isOver(): boolean {
    return this.#isOver
  }

  step(): void {
    this.#isRunning = true
    try {
      const { done, value } = this.#takeSlice()
      this.#isRunning = false
      if (this.#signal?.aborted) this.#stop()
      else if (done) {
        this.#end()
        this.#settle.resolve(value)
      }
    } catch (error) {
      this.#end()
      this.#settle.reject(error)
    }
  }

  #takeSlice(): IteratorResult<undefined, Result> {
    this.#clock.begin()
    for (;;) {
      const next = this.#work.next()
      if (next.done || this.#clock.isOverAfterStep()) return next
    }
  }

  readonly #stop = () => {
    // If it is aborted during a slice, `step` stops it after that.
    if (this.#isRunning) return
    this.#end()
    this.#work.return(undefined as Result)
    this.#settle.reject(this.#signal?.reason)
  }

  #end() {
    this.#isOver = true
    this.#signal?.removeEventListener('abort', this.#stop)
    this.#onEnd(this)
  }
}

/** The short works of a caller. */
class ShortWorks extends Sharer {
  readonly queue: (() => void)[] = []

  get isIdle(): boolean {
    return this.queue.length === 0
  }

  step(): void {
    this.queue.shift()?.()
  }
}

class CallersWorks extends Sharer {
  readonly #shorts = new ShortWorks()
  readonly #sharers = new Map<Sharer, Sharer>()
  #inProgress = 0
  /** Long works that have not begun. */
  readonly #waiting = new Set<Sharer>()
  #last: Sharer | undefined

  get isIdle(): boolean {
    return this.#shorts.isIdle && this.#inProgress === 0
  }

  addShort(step: () => void): void {
    this.#shorts.queue.push(step)
    this.#sharers.set(this.#shorts, this.#shorts)
  }

  add(work: Sharer): void {
    if (this.#inProgress === WORKS_IN_PROGRESS_MAX) this.#waiting.add(work)
    else {
      this.#inProgress += 1
      this.#sharers.set(work, work)
    }
  }

  remove(work: Sharer): void {
    if (this.#waiting.delete(work) || !this.#sharers.delete(work)) return
    this.#inProgress -= 1
    const [next] = this.#waiting
    if (next === undefined) return
    this.#waiting.delete(next)
    this.add(next)
  }

  step(): void {
    this.#last = nextInTurn(this.#sharers)
    this.#last?.step()
  }

  override charge(ms: number): void {
    super.charge(ms)
    this.#last?.charge(ms)
  }
}

/** Calls back when all that waits for a promise has run; the next tick of a microtask comes after all microtasks. */
function afterContinuations(callback: () => void) {
  queueMicrotask(() => process.nextTick(callback))
}

/** Runs a task to its end without yielding, for commands that have the event loop to themselves. */
export function runAtOnce<Result>(work: LongWork<Result>): Result {
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}
