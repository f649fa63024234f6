import type { Clock } from './clock.ts'

/**
 * Counts by key that begin at 0 again with each window of time. The clock must stand still within a turn of the event loop,
 * so that what a decision asks in turn is of one window.
 */
export class WindowCounts {
  readonly #clock: Pick<Clock, 'elapsed'>
  readonly #windowMs: number
  readonly #counts = new Map<string, number>()
  #all = 0
  /** In `elapsed` of the clock. */
  #end = 0

  constructor(clock: Pick<Clock, 'elapsed'>, windowMs: number) {
    this.#clock = clock
    this.#windowMs = windowMs
  }

  /** How often `add` was called in this window. */
  get all(): number {
    this.#renew()
    return this.#all
  }

  /** How often `add` was called with this key in this window. */
  of(key: string): number {
    this.#renew()
    return this.#counts.get(key) ?? 0
  }

  /** Counts one more, for each of the keys and in all. */
  add(...keys: readonly string[]): void {
    this.#renew()
    this.#all += 1
    for (const key of keys) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }

  /** Milliseconds until this window ends. */
  get leftMs(): number {
    this.#renew()
    return this.#end - this.#clock.elapsed()
  }

  /** A window begins with the first call after the end of the one before. */
  #renew() {
    const now = this.#clock.elapsed()
    if (now < this.#end) return
    this.#end = now + this.#windowMs
    this.#all = 0
    this.#counts.clear()
  }
}
