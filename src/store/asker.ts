import type { Configuration } from './configuration.ts'

/** Who asks for a change, and may be gone, or have lost the right to it, when it is decided or when its turn comes. */
export interface Asker {
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
  /**
   * Judges by what the caller may do now. Called when a change is decided, and again just before it is written.
   *
   * @param before The record that changes, as far as one change of one record is known already; undefined if it is added.
   * @param after The same record, as it becomes; undefined if it is removed.
   * @throws if the change is not allowed, or not any more; nothing has changed.
   */
  checkAgain?: (before?: Configuration, after?: Configuration) => void
}
