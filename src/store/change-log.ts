import type { Family } from '../metrics/family.ts'
import type { Change } from './change.ts'

/** What a store knows of its storage, whoever makes changes durable. */
export interface LogState {
  /** Id of the store: random. Records that are put in place of others have another one. */
  readonly store: string
  /** False while changes are refused because the storage failed. */
  readonly isWritable: boolean
  readonly metrics: readonly Family[]
  /** Waits for pending changes; refuses further ones. */
  close(): Promise<void>
}

/** Called just before a change is written, perhaps more than once. What it throws refuses the change. */
export type CheckChange = () => void

/** Makes the changes of a store durable that only this process changes. */
export interface ChangeLog extends LogState {
  /**
   * Resolves once the change is durable and applied.
   *
   * @throws What `check` throws.
   * @throws {OvertakenError} if a change before it, for which it may have been decided, was refused by its `check`.
   * @throws {StorageFullError} if there is no room; a later call may succeed.
   * @throws {StorageUnavailableError} if the storage failed.
   * @throws {OverloadedError} if too many changes are waiting.
   */
  append(change: Change, check?: CheckChange): Promise<void>
  /**
   * The same for several changes, atomically.
   *
   * @param changes At least one; no two take or free the same name.
   * @throws {TooManyChangesError} if they are too many. Also what `append` throws.
   */
  appendTogether(changes: readonly Change[], check?: CheckChange): Promise<void>
  /** The same in slices, for very many changes: the records get them by `applyTogether`. Rejects where others throw. */
  appendInSlices(changes: readonly Change[], check?: CheckChange): Promise<void>
}

/** Makes changes durable in a store that other processes change, too. They compete; each gets what all of them make. */
export interface SharedChangeLog extends LogState {
  /**
   * Resolves once the change is durable and applied.
   *
   * @param change A change of the records as the index has them; the log gives a record that is added its id.
   * @returns The change as it was made.
   * @throws {OvertakenError} if another change came first; the index has it. Nothing has changed by this one.
   * @throws {OutcomeUnknownError} if nobody can know whether it was made. Also what `ChangeLog.append` throws.
   */
  append(change: Change, check?: CheckChange): Promise<Change>
  /**
   * The same for several changes, atomically.
   *
   * @param changes At least one; no two take or free the same name.
   * @param revision The revision for which they were decided; any other change after it overtakes them.
   * @returns The revision of the records with them.
   * @throws {TooManyChangesError} if they are too many. Also what `append` throws.
   */
  appendTogether(changes: readonly Change[], revision: number, check?: CheckChange): Promise<number>
  /**
   * Resolves once the index has every change that was acknowledged anywhere before the call.
   *
   * @throws {StorageUnavailableError} if the storage does not say.
   */
  catchUp(): Promise<void>
}
