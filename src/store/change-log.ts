import type { Family } from '../metrics/family.ts'
import type { Change } from './change.ts'

/** Keeps the changes of a store for good: all that a store knows of its files, or of the servers in their place. */
export interface ChangeLog {
  /** Id of the store: random and never changed. */
  readonly store: string
  /** False while changes are refused because the storage failed. */
  readonly isWritable: boolean
  /** Figures of the storage itself. */
  readonly metrics: readonly Family[]
  /**
   * Resolves once the change is durable and applied; rejects when it is refused.
   *
   * @throws {StorageFullError} if there is no room; a later call may succeed.
   * @throws {StorageUnavailableError} if the storage failed.
   * @throws {OverloadedError} if too many changes are waiting.
   */
  append(change: Change): Promise<void>
  /**
   * The same for changes that are stored all or not at all.
   *
   * @param changes At least one; no two take or free the same name.
   * @throws {TooManyChangesError} if they are too many for that. Also what `append` throws.
   */
  appendTogether(changes: readonly Change[]): Promise<void>
  /** Waits for what is on its way and takes nothing more. */
  close(): Promise<void>
}

/** What a log tells its store. */
export interface ChangeLogOwner {
  /** Puts a change, now durable, into the state. Called in the order of revisions, before `append` resolves. */
  apply(change: Change, revision: number): void
  /** Every change that was appended and not yet applied is refused. Called before `append` rejects. */
  refuse(): void
}
