import { ConnbookError, type Fault, InvalidInputError, TooManyChangesError } from '../errors.ts'
import { FAULTS_MAX, IMPORT_ROWS_MAX } from '../limits.ts'
import type { LongWork } from '../scheduler.ts'
import { counted } from '../text.ts'
import type { BulkChange, ImportPlan, StoredNow } from './bulk-change.ts'
import type { Configuration, ConfigurationPatch } from './configuration.ts'
import { memoryOf, tooMuchAtOnce } from './import-plan.ts'
import { stepsOfLabels } from './labels.ts'
import type { Matcher } from './record-filter.ts'
import { amountOf, heldMemory } from './record-room.ts'
import { Slice } from './slices.ts'

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
    readsAll: true,
    isPlannedAhead: true,
    stepsOn(index, stepsMax) {
      let steps = index.count * (1 + stepsOfLabels(patch?.labelsPatch))
      if (steps > stepsMax || !index.hasLabels) return steps
      for (const { labels } of index.freeze()) steps += stepsOfLabels(labels)
      return steps
    },
    plan: (stored) => planFiltered(change, stored),
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

/**
 * @throws {TooManyAffectedError}
 * @throws {TooManyChangesError} beyond IMPORT_ROWS_MAX changes.
 * @throws {NotGrantedError} naming the first FAULTS_MAX records that the asker sees and may not change so.
 * @throws {InvalidInputError} naming the first FAULTS_MAX records that would become invalid.
 * @throws {MemoryFullError}
 */
function* planFiltered(
  { matches, patch, affectedMax = Number.POSITIVE_INFINITY }: FilteredChange,
  { records, access, memoryMax = Number.POSITIVE_INFINITY }: StoredNow,
): LongWork<ImportPlan> {
  const modified: { before: Configuration; after: Configuration }[] = []
  const removed: Configuration[] = []
  const faults: Fault[] = []
  const refused: Fault[] = []
  const patchSteps = stepsOfLabels(patch?.labelsPatch)
  let [matched, unchanged, growth, made] = [0, 0, 0, 0]
  const slice = new Slice()
  for (const record of records) {
    if (slice.isOverAfter(1)) yield
    // What the asker does not see costs no more than that.
    if (access?.sees(record) === false || !matches(record)) continue
    matched += 1
    const isLost = matched > affectedMax || made > memoryMax || faults.length + refused.length >= FAULTS_MAX
    // The others are only counted.
    if (isLost || modified.length + removed.length > IMPORT_ROWS_MAX) continue
    if (patch === undefined && access?.mayRemove(record) === false) {
      refused.push(notGranted(record))
      continue
    }
    if (patch === undefined) {
      removed.push(record)
      growth -= memoryOf(record)
      continue
    }
    if (slice.isOverAfter(patchSteps + stepsOfLabels(record.labels))) yield
    const after = changedBy(patch, record, faults)
    if (access?.mayChange(record, after) === false) refused.push(notGranted(record))
    else if (after === record) unchanged += 1
    else {
      modified.push({ before: record, after })
      const amount = amountOf(after)
      made += heldMemory(amount)
      growth += memoryOf(after) - memoryOf(record)
    }
  }
  if (matched > affectedMax) throw new TooManyAffectedError(matched, affectedMax)
  if (refused.length > 0 && access !== undefined) throw access.refusal(refused)
  if (faults.length > 0) throw new InvalidInputError('Cannot change the records; nothing has changed', faults)
  if (modified.length + removed.length > IMPORT_ROWS_MAX)
    throw new TooManyChangesError(
      `Cannot make more than ${IMPORT_ROWS_MAX} changes at once, and the filters keep ${matched} records; nothing has changed`,
    )
  if (made > memoryMax) throw tooMuchAtOnce('change the records: they', memoryMax, 'narrow the filters')
  return { added: [], modified, removed, unchanged, growth }
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
