import type { Change } from '../store/change.ts'
import type { Configuration } from '../store/configuration.ts'

/**
 * The audit trail as the storage sees it: who changed what. After a crash the storage adds the lines that are missing, and
 * learns from the others which changes it must still have.
 */
export interface ChangeTrail {
  /** Reads what it lists already. */
  listed(): Promise<Listed>
  /**
   * Lists a durable change, soon after.
   *
   * @param before The record as it was.
   * @param after Revision of the change before this one, where changes may share a revision or leave some out; without it,
   *   each change has the next revision.
   */
  list(
    store: string,
    change: Change,
    revision: number,
    before: Configuration | undefined,
    after?: number,
  ): void
  /** Resolves once every change given to `list` is on disk. @throws {Error} if one cannot be written. */
  sync(): Promise<void>
}

/** The changes of a store that a trail lists; undefined if it names none. */
export type Listed = (store: string) => ListedChanges | undefined

export interface ListedChanges {
  /** Revision of the last one. A line counts if it follows on another one, or is the only one. */
  readonly highest: number
  /** The highest revision that any line names. */
  readonly claimed: number
  /** Whether it needs no line: it has one, or was made before the trail began. */
  has(revision: number): boolean
  /** Id and name of the listed changes above a revision, as words, the first of many; and how many there are. */
  after(revision: number): { readonly count: number; readonly names: readonly string[] }
}
