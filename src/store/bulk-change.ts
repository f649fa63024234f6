import type { LongWork } from '../scheduler.ts'
import type { Access } from './access.ts'
import type { Notes } from './authorship.ts'
import type { Configuration } from './configuration.ts'
import type { ConfigurationIndex } from './configuration-index.ts'

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
  /** All of them; read only if it says so. */
  readonly records: Iterable<Configuration>
  find(name: string): Configuration | undefined
  /** The highest id ever given. */
  readonly lastId: number
  /** Bytes that the records which it makes may take beside all others; no limit if absent. */
  readonly memoryMax?: number
  /** What the asker may see and change; undefined for all records. */
  readonly access?: Access | undefined
}

/** Changes that are decided for the latest records, and made all together or not at all. */
export interface BulkChange {
  /** Completes "Cannot …". */
  readonly verb: string
  /** Whether `plan` reads `records`. */
  readonly readsAll: boolean
  /** Whether it may look for long and find nothing: then it is planned once before other changes have to wait for it. */
  readonly isPlannedAhead?: true
  /** Estimated steps of long work (see SLICE_STEPS); it stops to count beyond `stepsMax`. */
  stepsOn(index: ConfigurationIndex, stepsMax: number): number
  /** @throws A refusal, if the records, or the access, do not allow it. */
  plan(stored: StoredNow): LongWork<ImportPlan>
  /** What the first change says of the whole. */
  notesOf(plan: ImportPlan): Notes
}
