import type { Family } from '../metrics/family.ts'
import type { Change } from './change.ts'

/** Makes the changes of a store durable; the store knows nothing else of its storage. */
export interface ChangeLog {
  /** Id of the store: random and never changed. */
  readonly store: string
  /** False while changes are refused because the storage failed. */
  readonly isWritable: boolean
  readonly metrics: readonly Family[]
  /**
   * Resolves once the change is durable and applied.
   *
   * @throws {StorageFullError} if there is no room; a later call may succeed.
   * @throws {StorageUnavailableError} if the storage failed.
   * @throws {OverloadedError} if too many changes are waiting.
   */
  append(change: Change): Promise<void>
  /**
   * The same for several changes, atomically.
   *
   * @param changes At least one; no two take or free the same name.
   * @throws {TooManyChangesError} if they are too many. Also what `append` throws.
   */
  appendTogether(changes: readonly Change[]): Promise<void>
  /** The same in slices, for very many changes: the owner gets them by `applyTogether`. Rejects where others throw. */
  appendInSlices(changes: readonly Change[]): Promise<void>
  /** Waits for pending changes; refuses further ones. */
  close(): Promise<void>
}

/** What a log tells its store. */
export interface ChangeLogOwner {
  /** Applies a durable change. Called in the order of revisions, before `append` resolves. */
  apply(change: Change, revision: number): void
  /** Applies the durable changes of an `appendInSlices`, as a whole; the next changes are applied after that. */
  applyTogether(changes: readonly Change[], firstRevision: number): Promise<void>
  /** Every appended change that is not applied yet is refused. Called before `append` rejects. */
  refuse(): void
}
