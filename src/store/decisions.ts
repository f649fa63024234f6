import type { Access } from './access.ts'
import type { ImportPlan } from './bulk-change.ts'
import type { Alteration, Change } from './change.ts'
import type { Configuration } from './configuration.ts'
import { listTag } from './list-tag.ts'
import { StaleListError } from './refusals.ts'

/** The latest state, as far as a decision about a few names needs it. */
export interface Latest {
  find(name: string): Configuration | undefined
  /** What the principal may see and change; undefined for all records. */
  readonly access: Access | undefined
  /** For a record that is added; a log may give it another one. */
  readonly nextId: number
}

/** @throws A refusal, if the latest state does not allow the change. */
export type Decide<Outcome> = (latest: Latest) => Decision<Outcome>

export type Decision<Outcome> =
  /** Nothing needs to change. */
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

/** The tag of the records at a revision, for those who see them. */
export function tagFor(access: Access | undefined, store: string, revision: number): string {
  return listTag(access === undefined ? store : access.storeOf(store), revision)
}
