import { Counter } from '../metrics/counter.ts'
import { Histogram } from '../metrics/histogram.ts'

const SYNC_BOUNDS = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
]

/** Counted since the journal was opened. */
export interface JournalActivity {
  readonly frames: Counter
  readonly changes: Counter
  /** Time of the `fdatasync` of each frame. */
  readonly syncSeconds: Histogram
}

export function createJournalActivity(): JournalActivity {
  return { frames: new Counter(), changes: new Counter(), syncSeconds: new Histogram(SYNC_BOUNDS) }
}
