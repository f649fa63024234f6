import { OvertakenError } from '../errors.ts'
import { type Access, accessOf } from './access.ts'
import type { Actor, Asker } from './authorship.ts'
import type { BulkChange, ImportPlan } from './bulk-change.ts'
import type { Alteration, Change } from './change.ts'
import type { CheckChange } from './change-log.ts'
import type { Configuration } from './configuration.ts'
import { listTag } from './list-tag.ts'
import { StaleListError } from './refusals.ts'

/** Makes decisions about records durable. There is one way for a store of this process alone, and one for a shared store. */
export interface RecordChanges {
  /**
   * Makes a decision and, if it is a change, resolves once that is durable. The decision is made again if it may have been
   * made from what is not the latest state.
   *
   * @param names Those that the decision may read, take or free.
   */
  change<Outcome>(
    actor: Actor,
    asker: Asker | undefined,
    names: readonly string[],
    decide: Decide<Outcome>,
  ): Promise<Outcome>
  /** See `ConfigurationStore.planTogether`. */
  planTogether(
    bulk: BulkChange,
    expected: ExpectedTag | undefined,
    asker: Asker | undefined,
  ): Promise<BulkOutcome>
  /** See `ConfigurationStore.changeTogether`. */
  changeTogether(
    actor: Actor,
    bulk: BulkChange,
    expected: ExpectedTag | undefined,
    asker: Asker | undefined,
  ): Promise<BulkOutcome>
  /**
   * Resolves once the index has every change that was acknowledged anywhere before the call; undefined if it always has.
   *
   * @throws {StorageUnavailableError} if the storage does not say.
   */
  catchUp(): Promise<void> | undefined
  /** Resolves once no large change of many records is under way; refuses further changes at once. */
  close(): Promise<void>
}

/** The latest state, as far as a decision about a few names needs it. */
export interface Latest {
  find(name: string): Configuration | undefined
  /** What the asker may see and change; undefined for all records. */
  readonly access: Access | undefined
  /** For a record that is added; a shared store may give it another one. */
  readonly nextId: number
}

/** @throws A refusal, if the latest state does not allow the change. */
export type Decide<Outcome> = (latest: Latest) => Decision<Outcome>

export type Decision<Outcome> =
  /** Nothing changes. */
  | { readonly outcome: Outcome }
  | {
      readonly change: Alteration
      /** @param made The change as it became durable. */
      outcomeOf(made: Change): Outcome
    }

/** Whether the records with a tag are those that the caller means to change. */
export type ExpectedTag = (tag: string) => boolean

/** What an import, or another change of many records, did, or would do. */
export interface BulkOutcome extends ImportPlan {
  /** The tag of the records after it; if it was only tried, of those that it was compared with. */
  readonly tag: string
}

/** @returns The tag. @throws {StaleListError} if it is not the one that the caller expects. */
export function checkTag(tag: string, expected: ExpectedTag | undefined): string {
  if (expected !== undefined && !expected(tag)) throw new StaleListError()
  return tag
}

/**
 * The check of a change that has been decided.
 *
 * @param access For which it was decided. With another one it is overtaken, and must be decided anew.
 */
export function checkOf(asker: Asker | undefined, access: Access | undefined): CheckChange {
  return () => {
    if (!isStillFor(asker, access)) throw new OvertakenError()
  }
}

/**
 * Whether the asker sees and may change the same as when something was decided.
 *
 * @param access For which it was decided.
 * @throws What the asker's `checkAgain` throws.
 */
export function isStillFor(asker: Asker | undefined, access: Access | undefined): boolean {
  asker?.checkAgain?.()
  return accessOf(asker)?.key === access?.key
}

/** The tag of the records at a revision, for those who see them. */
export function tagFor(access: Access | undefined, store: string, revision: number): string {
  return listTag(access === undefined ? store : access.storeOf(store), revision)
}
