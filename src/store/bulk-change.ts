import { type LongWork, runAtOnce } from '../scheduler.ts'
import type { Access } from './access.ts'
import type { Notes } from './authorship.ts'
import type { Configuration } from './configuration.ts'

/** What a change of many records, such as an import, would do, or did. */
export interface ImportPlan {
  readonly added: readonly Configuration[]
  readonly modified: readonly { readonly before: Configuration; readonly after: Configuration }[]
  readonly removed: readonly Configuration[]
  /** How many records are as they shall be already. */
  readonly unchanged: number
  /** Estimated bytes of memory that it needs; negative if it frees some. */
  readonly growth: number
}

/** Whether a plan leaves all records as they are. */
export function changesNothing({ added, modified, removed }: ImportPlan): boolean {
  return added.length + modified.length + removed.length === 0
}

/** The records that a change of many is decided for. */
export interface StoredNow {
  /** All of them, as they were when the plan began; read once, if at all. */
  readonly records: Iterable<Configuration>
  /** The record that has a name at the moment of the call. */
  find(name: string): Configuration | undefined
  /** The highest id ever given. */
  readonly lastId: number
  /** Bytes that the records which it makes may take beside all others; no limit if absent. */
  readonly memoryMax?: number
  /** What the principal may see and change; undefined for all records. */
  readonly access?: Access | undefined
}

/** A record that has changed: as it was, and as it is. */
export interface ChangedRecord {
  /** Undefined for a record that was added. */
  readonly before: Configuration | undefined
  /** Undefined for a record that was removed. */
  readonly after: Configuration | undefined
}

export interface ChangedRecords {
  /** Each once, however often it has changed. */
  readonly records: readonly ChangedRecord[]
  /** All names that were taken or freed, those included that nobody has any more. */
  readonly names: readonly string[]
}

/** Changes of many records, which are made all together or not at all. */
export interface BulkChange {
  /** Completes "Cannot …". */
  readonly verb: string
  /** Begins a plan for the records as they are now. */
  planFor(stored: StoredNow): BulkPlanner
  /** What the first change says of the whole. */
  notesOf(plan: ImportPlan): Notes
}

/** Decides what a change of many does to each record. A refusal refuses the whole. */
export interface BulkPlanner {
  /** Decides about all records. @throws A refusal. */
  decide(): LongWork<void>
  /**
   * Decides again about records that have changed since `decide` began.
   *
   * @throws A refusal.
   */
  decideAgain(changed: ChangedRecords): LongWork<void>
  /**
   * @param lastId The highest id ever given: records that are added get those after it.
   * @throws A refusal.
   */
  conclude(lastId: number): LongWork<ImportPlan>
}

/** Plans a change of many for records that do not change meanwhile. @throws A refusal. */
export function planOf(bulk: BulkChange, stored: StoredNow): ImportPlan {
  const planner = bulk.planFor(stored)
  runAtOnce(planner.decide())
  return runAtOnce(planner.conclude(stored.lastId))
}
