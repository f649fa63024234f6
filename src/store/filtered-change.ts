import { ConnbookError, type Fault, InvalidInputError, TooManyChangesError } from '../errors.ts'
import { FAULTS_MAX, IMPORT_ROWS_MAX } from '../limits.ts'
import type { LongWork } from '../scheduler.ts'
import { counted } from '../text.ts'
import type { BulkChange, BulkPlanner, ChangedRecords, ImportPlan, StoredNow } from './bulk-change.ts'
import type { Configuration, ConfigurationPatch } from './configuration.ts'
import { memoryOf, tooMuchAtOnce } from './import-plan.ts'
import type { Matcher } from './record-filter.ts'
import { amountOf, heldMemory } from './record-room.ts'
import { inSteps } from './slices.ts'

/** More records are kept by the filters than the caller allows to be changed. */
export class TooManyAffectedError extends ConnbookError {
  readonly code = 'too_many_affected'

  constructor(matched: number, max: number) {
    super(
      `The filters keep ${counted(matched, 'record')}, more than the ${max} of max-affected; nothing has changed; narrow the filters, or allow more`,
    )
  }
}

/** What is done to the records that a filter keeps. */
export interface FilteredChange {
  readonly matches: Matcher
  /** The filter as a query, for the audit trail. */
  readonly query: string
  /** Undefined to remove the records. */
  readonly patch: ConfigurationPatch | undefined
  /** How many records may be kept at most; any number if absent. */
  readonly affectedMax?: number | undefined
}

/** How many records a filter kept: those that a plan changes or removes, and those that are as they shall be already. */
export function countMatched({ modified, removed, unchanged }: ImportPlan): number {
  return modified.length + removed.length + unchanged
}

/** Changes, or removes, the records that a filter keeps. */
export function filteredChange(change: FilteredChange): BulkChange {
  const { query, patch } = change
  return {
    verb: patch === undefined ? 'remove the records' : 'change the records',
    planFor: (stored) => new FilteredPlanner(change, stored),
    notesOf(plan) {
      const matched = countMatched(plan)
      if (patch === undefined) return { many: { query, matched, removed: plan.removed.length } }
      const { labelsPatch, ...fields } = patch
      const changed = labelsPatch === undefined ? fields : { ...fields, labels: labelsPatch }
      const { modified, unchanged } = plan
      return { many: { query, matched, modified: modified.length, unchanged, changed } }
    },
  }
}

class FilteredPlanner implements BulkPlanner {
  readonly #change: FilteredChange
  readonly #stored: StoredNow
  readonly #modified: { readonly before: Configuration; readonly after: Configuration }[] = []
  readonly #removed: Configuration[] = []
  /** Those of both that have changed since. A set of all would stop the event loop each time that it doubles. */
  readonly #forgotten = new Set<Configuration>()
  readonly #faults: Fault[] = []
  readonly #refused: Fault[] = []
  #matched = 0
  /** Estimated bytes of the records that it makes, and of those less the ones that they replace. */
  #made = 0
  #growth = 0

  constructor(change: FilteredChange, stored: StoredNow) {
    this.#change = change
    this.#stored = stored
  }

  *decide(): LongWork<void> {
    yield* inSteps(this.#stored.records, (record) => this.#decide(record))
    this.#check()
  }

  *decideAgain({ records }: ChangedRecords): LongWork<void> {
    // All that goes first: it may make room for what comes.
    yield* inSteps(records, ({ before }) => {
      if (before !== undefined) this.#forget(before)
    })
    yield* inSteps(records, ({ after }) => {
      if (after !== undefined) this.#decide(after)
    })
  }

  /**
   * @throws {TooManyAffectedError}
   * @throws {TooManyChangesError} beyond IMPORT_ROWS_MAX changes.
   * @throws {NotGrantedError} naming the first FAULTS_MAX records that the principal sees and may not change so.
   * @throws {InvalidInputError} naming the first FAULTS_MAX records that would become invalid.
   * @throws {MemoryFullError}
   */
  *conclude(): LongWork<ImportPlan> {
    this.#check()
    const modified: { before: Configuration; after: Configuration }[] = []
    yield* inSteps(this.#modified, (one) => {
      if (!this.#forgotten.has(one.before)) modified.push(one)
    })
    const removed: Configuration[] = []
    yield* inSteps(this.#removed, (record) => {
      if (!this.#forgotten.has(record)) removed.push(record)
    })
    const unchanged = this.#matched - modified.length - removed.length
    return { added: [], modified, removed, unchanged, growth: this.#growth }
  }

  get #isLost(): boolean {
    const { affectedMax = Number.POSITIVE_INFINITY } = this.#change
    const { memoryMax = Number.POSITIVE_INFINITY } = this.#stored
    return (
      this.#matched > affectedMax ||
      this.#made > memoryMax ||
      this.#faults.length + this.#refused.length >= FAULTS_MAX ||
      this.#changes > IMPORT_ROWS_MAX
    )
  }

  get #changes(): number {
    return this.#modified.length + this.#removed.length - this.#forgotten.size
  }

  #matches(record: Configuration): boolean {
    // What the principal does not see costs no more than that.
    return this.#stored.access?.sees(record) !== false && this.#change.matches(record)
  }

  #decide(record: Configuration) {
    if (!this.#matches(record)) return
    this.#matched += 1
    // Once it is refused, the others are only counted.
    if (this.#isLost) return
    const { patch } = this.#change
    const { access } = this.#stored
    if (patch === undefined) {
      if (access?.mayRemove(record) === false) this.#refused.push(notGranted(record))
      else {
        this.#removed.push(record)
        this.#growth -= memoryOf(record)
      }
      return
    }
    const after = changedBy(patch, record, this.#faults)
    if (access?.mayChange(record, after) === false) this.#refused.push(notGranted(record))
    else if (after !== record) {
      this.#modified.push({ before: record, after })
      this.#made += heldMemory(amountOf(after))
      this.#growth += memoryOf(after) - memoryOf(record)
    }
  }

  /** Only before anything was refused. */
  #forget(record: Configuration) {
    if (!this.#matches(record)) return
    this.#matched -= 1
    const { patch } = this.#change
    const after = patch && record.with(patch)
    if (after === record) return
    this.#forgotten.add(record)
    this.#growth += memoryOf(record)
    if (after === undefined) return
    this.#made -= heldMemory(amountOf(after))
    this.#growth -= memoryOf(after)
  }

  #check() {
    const { affectedMax = Number.POSITIVE_INFINITY } = this.#change
    const { access, memoryMax = Number.POSITIVE_INFINITY } = this.#stored
    if (this.#matched > affectedMax) throw new TooManyAffectedError(this.#matched, affectedMax)
    if (this.#refused.length > 0 && access !== undefined) throw access.refusal(this.#refused)
    if (this.#faults.length > 0)
      throw new InvalidInputError('Cannot change the records; nothing has changed', this.#faults)
    if (this.#changes > IMPORT_ROWS_MAX)
      throw new TooManyChangesError(
        `Cannot make more than ${IMPORT_ROWS_MAX} changes at once, and the filters keep ${this.#matched} records; nothing has changed`,
      )
    if (this.#made > memoryMax)
      throw tooMuchAtOnce('change the records: they', memoryMax, 'narrow the filters')
  }
}

function notGranted({ name }: Configuration): Fault {
  return { field: 'name', detail: 'is not one that this account may change so', name }
}

/** The record itself if nothing changes, or if it would become invalid, which adds a fault. */
function changedBy(patch: ConfigurationPatch, record: Configuration, faults: Fault[]): Configuration {
  try {
    return record.with(patch)
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    faults.push(...error.faults.map((fault) => ({ ...fault, name: record.name })))
    return record
  }
}
