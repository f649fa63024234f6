import type { Family } from '../metrics/family.ts'
import type { Change } from './change.ts'

/** Changes that become durable together, or not at all. */
export interface Commit {
  /** At least one. */
  readonly changes: readonly Change[]
  /** Whether they also become visible together: then no two are of the same record. */
  readonly isBulk: boolean
  /** When the first of them came, or the bulk had its turn, by the monotonic clock. */
  readonly sinceMs: number
  /**
   * Called in the moment in which they are written or sent. What it throws refuses them: {OvertakenError} if they must be
   * decided again.
   */
  readonly check: () => void
}

/** What was committed, as all see it from now on. */
export interface Committed {
  readonly changes: readonly Change[]
  /** Revision of the records with these changes. */
  readonly revision: number
}

/** Says for how long a commit waits for more changes. Times are in milliseconds of one clock. */
export interface Linger {
  /** Call it when a change has come. */
  came(): void
  /** Resolves when what waits then is to be committed. */
  complete(waiting: () => number, now: () => number): Promise<void>
  /** Call it when a commit has ended. @param callers How many changes it had, and how many wait. */
  ended(callers: number, begin: number, end: number): void
}

/** Makes the changes of a store durable, and applies to its records what was made: there, or by others. */
export interface ChangeLog {
  /** Id of the store: random. Records that are put in place of others have another one. */
  readonly store: string
  /** False while changes are refused because the storage failed. */
  readonly isWritable: boolean
  readonly metrics: readonly Family[]
  /** Names that the changes of one commit may take or free, unless it is a bulk. */
  readonly namesMax: number
  /** Whether a commit may have several changes of one name, each of which follows from the one before. */
  readonly allowsSequences: boolean
  /** How long a change may take from its arrival on, unless it is a bulk; without a limit if absent. */
  readonly waitMsMax?: number
  /** For storage to which each commit costs much; without it, a commit takes what waits. */
  readonly linger?: Linger
  /**
   * Called before the work for a bulk is begun.
   *
   * @param verb Completes "Cannot …".
   * @throws {StorageUnavailableError} if `commit` would refuse it.
   */
  checkWritable(verb: string): void
  /**
   * Resolves when a commit can be made at once; undefined if it can now. Changes are decided then, not earlier: what
   * `commit` finds to have changed since has to be decided again.
   */
  prepare(): Promise<void> | undefined
  /**
   * Resolves once the changes are durable and applied. One commit at a time.
   *
   * @throws {OvertakenError} if they must be decided again, once `catchUp` has resolved. Nothing has changed by them.
   * @throws {StorageFullError} if there is no room; a later call may succeed.
   * @throws {StorageUnavailableError} if the storage failed.
   * @throws {TooManyChangesError} if they are too many.
   * @throws {OutcomeUnknownError} if nobody can know whether they were made. Also what `check` throws.
   */
  commit(commit: Commit): Promise<Committed>
  /**
   * Resolves once the records have every change that was acknowledged anywhere before the call; undefined if they always
   * have.
   *
   * @throws {StorageUnavailableError} if the storage does not say.
   */
  catchUp(): Promise<void> | undefined
  /** Refuses further changes. */
  close(): Promise<void>
}
