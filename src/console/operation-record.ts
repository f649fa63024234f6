import type { Metrics } from './metrics-figures.ts'
import type { Figures, Values } from './operation-figures.ts'

/** How often the metrics are looked at. */
export const LOOK_MS = 5_000
/** How far back the pictures go. */
export const SPAN_MS = 15 * 60_000
/** Looks that are further apart have a gap between them. */
const GAP_MS = 2.5 * LOOK_MS

interface Moment {
  readonly at: number
  readonly values: Values
}

/** What pictures have to show of the last SPAN_MS: figures of each look at the metrics. */
export class OperationRecord {
  readonly #moments = new Map<Figures, readonly Moment[]>()
  #last: { readonly at: number; readonly metrics: Metrics | undefined } | undefined

  /** From the next look on, keeps these figures, too. */
  keep(figures: Figures): void {
    if (!this.#moments.has(figures)) this.#moments.set(figures, [])
  }

  /** @param at In ms since 1970. @param metrics Undefined if the server could not be asked. */
  take(at: number, metrics: Metrics | undefined): void {
    const last = this.#last
    const isGap = last !== undefined && at - last.at > GAP_MS
    const before = isGap ? undefined : last?.metrics
    const seconds = last === undefined ? 0 : (at - last.at) / 1_000
    for (const [figures, moments] of this.#moments) {
      const values = metrics === undefined ? {} : figures.read(metrics, before, seconds)
      // A moment without values ends a line.
      const gap = isGap ? [{ at: last.at + LOOK_MS, values: {} }] : []
      const kept = [...moments, ...gap, { at, values }].filter(
        (moment) => moment.at > at - SPAN_MS && moment.at <= at,
      )
      this.#moments.set(figures, kept)
    }
    this.#last = { at, metrics }
  }

  /** Oldest first. */
  moments(figures: Figures): readonly Moment[] {
    return this.#moments.get(figures) ?? []
  }
}
