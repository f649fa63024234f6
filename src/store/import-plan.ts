import { type Fault, InvalidInputError, MemoryFullError } from '../errors.ts'
import { FAULTS_MAX, IMPORT_ROW_MEMORY_BYTES } from '../limits.ts'
import { type LongWork, runAtOnce } from '../scheduler.ts'
import { timestamp } from '../timestamp.ts'
import type { Actor, ImportMode, Notes } from './authorship.ts'
import type { BulkChange, ImportPlan, StoredNow } from './bulk-change.ts'
import type { Alteration, Change } from './change.ts'
import { Configuration, type ImportedConfiguration, labelsAfter } from './configuration.ts'
import { countLabels, stepsOfLabels, withOwnKeys } from './labels.ts'
import { amountOf, heldMemory, recordMemory } from './record-room.ts'
import { SLICE_STEPS, Slice } from './slices.ts'

/** More for a row with labels, however many. */
const IMPORT_LABELS_MEMORY_BYTES = 350
const IMPORT_LABEL_MEMORY_BYTES = 130
/** For a label that is to be removed, whose key all rows of a format share. */
const IMPORT_REMOVED_LABEL_MEMORY_BYTES = 16
/** Its text is there as fields, as JSON, and in the journal's frame. */
const IMPORT_JSON_COPIES = 3

/** How many records of each kind there are in a plan. */
export function countsOf({ added, modified, removed, unchanged }: ImportPlan) {
  return { added: added.length, modified: modified.length, removed: removed.length, unchanged }
}

/** The same whether the account may not change a record, or does not see the one that has the name. */
const NOT_GRANTED = 'is not one that this account may add or change so'

const MEBIBYTE = 1024 * 1024

/**
 * Compares records with those that are stored.
 *
 * @param drafts No two with the same name.
 * @throws {InvalidInputError} if a record would have too many labels, or naming those that the asker may not change so.
 * @throws {MemoryFullError} if the records that it makes take more than `memoryMax`.
 */
export function planImport(
  drafts: readonly ImportedConfiguration[],
  mode: ImportMode,
  stored: StoredNow,
): ImportPlan {
  return runAtOnce(planImportInSlices(drafts, mode, stored))
}

/** As `planImport`, in slices. */
export function* planImportInSlices(
  drafts: readonly ImportedConfiguration[],
  mode: ImportMode,
  { records, find, lastId, access, memoryMax = Number.POSITIVE_INFINITY }: StoredNow,
): LongWork<ImportPlan> {
  const added: Configuration[] = []
  const modified: { before: Configuration; after: Configuration }[] = []
  const removed: Configuration[] = []
  const kept = new Set<string>()
  const faults: Fault[] = []
  let unchanged = 0
  let growth = 0
  let made = 0
  const slice = new Slice()
  for (const draft of drafts) {
    if (slice.isOverAfter(stepsOfDraft(draft))) yield
    const before = find(draft.name)
    if (before?.labels !== undefined && slice.isOverAfter(stepsOfLabels(before.labels))) yield
    const isSeen = before === undefined || access === undefined || access.sees(before)
    const after = isSeen ? recordAfter(before, draft, lastId + added.length + 1) : undefined
    if (after === undefined || (after !== before && access?.mayChange(before, after) === false)) {
      if (faults.length < FAULTS_MAX) faults.push({ field: 'name', detail: NOT_GRANTED, name: draft.name })
      continue
    }
    if (before === undefined) added.push(after)
    else if (after === before) unchanged += 1
    else modified.push({ before, after })
    if (after !== before) {
      const amount = amountOf(after)
      made += heldMemory(amount)
      if (made > memoryMax)
        throw tooMuchAtOnce(
          'import the records: those that it adds or changes',
          memoryMax,
          'make it several imports',
        )
      growth += recordMemory(amount) - (before === undefined ? 0 : memoryOf(before))
    }
    if (mode === 'replace') kept.add(draft.name)
  }
  if (faults.length > 0) throw new InvalidInputError('Cannot import the records; nothing has changed', faults)
  if (mode === 'merge') return { added, modified, removed, unchanged, growth }
  for (const record of records) {
    if (slice.isOverAfter(1)) yield
    if (kept.has(record.name) || access?.mayRemove(record) === false) continue
    removed.push(record)
    growth -= memoryOf(record)
  }
  return { added, modified, removed, unchanged, growth }
}

/** Estimated bytes of memory of a stored record. */
export function memoryOf(record: Configuration): number {
  return recordMemory(amountOf(record))
}

/** @param what Completes "Cannot …". @param remedy What to do. */
export function tooMuchAtOnce(what: string, memoryMax: number, remedy: string): MemoryFullError {
  return new MemoryFullError(
    `Cannot ${what} need more than ${Math.floor(memoryMax / MEBIBYTE)} MiB of memory at once; nothing has changed; ${remedy}, or give connbook more memory and start it again`,
  )
}

/** Adds and changes records; the mode `replace` also removes those that are not named. @param drafts As `planImport`. */
export function bulkImport(drafts: readonly ImportedConfiguration[], mode: ImportMode): BulkChange {
  return {
    verb: 'import',
    readsAll: mode === 'replace',
    stepsOn(index, stepsMax) {
      let steps = drafts.length + (mode === 'replace' ? index.count : 0)
      if (steps > stepsMax) return steps
      // Few enough to look at each.
      for (const draft of drafts) {
        steps += stepsOfDraft(draft) - 1
        if (mode === 'merge' && index.hasLabels) steps += stepsOfLabels(index.find(draft.name)?.labels)
      }
      const replaced = mode === 'replace' && index.hasLabels ? index.freeze() : []
      for (const { labels } of replaced) steps += stepsOfLabels(labels)
      return steps
    },
    plan: (stored) => planImportInSlices(drafts, mode, stored),
    notesOf: (plan) => ({ import: { mode, ...countsOf(plan) } }),
  }
}

/** Measured bytes of a row of an import: all that is made of it until it is done. */
export function importRowMemory(row: ImportedConfiguration): number {
  let removed = 0
  let removedBytes = 0
  for (const key in row.labelsPatch) {
    if (row.labelsPatch[key] !== null) continue
    removed += 1
    removedBytes += '"":null,'.length + key.length
  }
  const jsonBytes = Buffer.byteLength(JSON.stringify(row)) - removedBytes
  const labels = countLabels(row.labels) + countLabels(row.labelsPatch) - removed
  const labelBytes = labels === 0 ? 0 : IMPORT_LABELS_MEMORY_BYTES + labels * IMPORT_LABEL_MEMORY_BYTES
  return (
    IMPORT_ROW_MEMORY_BYTES +
    jsonBytes * IMPORT_JSON_COPIES +
    labelBytes +
    removed * IMPORT_REMOVED_LABEL_MEMORY_BYTES
  )
}

/** Estimated steps of long work (see SLICE_STEPS) that a draft takes. */
function stepsOfDraft({ labels, labelsPatch }: ImportedConfiguration): number {
  return 1 + stepsOfLabels(labels) + stepsOfLabels(labelsPatch)
}

/** @param nextId The id for the next record that is not stored yet. */
function recordAfter(
  before: Configuration | undefined,
  draft: ImportedConfiguration,
  nextId: number,
): Configuration {
  try {
    if (before !== undefined) return before.with(withKeysOf(before, draft))
    return new Configuration(nextId, { ...draft, labels: labelsAfter(undefined, draft) })
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    const faults = error.faults.map((fault) => ({ ...fault, name: draft.name }))
    throw new InvalidInputError('Cannot import the records; nothing has changed', faults)
  }
}

/** The draft with the keys of labels that the record has, where the file cannot tell them apart. */
function withKeysOf({ labels }: Configuration, draft: ImportedConfiguration): ImportedConfiguration {
  const { labelsPatch, looseKeys } = draft
  if (labels === undefined || labelsPatch === undefined || looseKeys === undefined) return draft
  return { ...draft, labelsPatch: withOwnKeys(labels, labelsPatch, looseKeys) }
}

/** The changes of a plan, in an order in which they can be applied one by one. */
export function* changesOf({ added, modified, removed }: ImportPlan): Iterable<Alteration> {
  for (const { name } of removed) yield { remove: name }
  for (const { before, after } of modified) yield { modify: after, name: before.name }
  for (const add of added) yield { add }
}

/** The changes of a plan, with who made them; the first also has the notes on the whole. */
export function* signedChangesOf(plan: ImportPlan, actor: Actor, notes: Notes): LongWork<Change[]> {
  const authorship = { actor, time: timestamp() }
  const first = { ...authorship, ...notes }
  const changes: Change[] = []
  for (const change of changesOf(plan)) {
    changes.push({ ...change, authorship: changes.length === 0 ? first : authorship })
    if (changes.length % SLICE_STEPS === 0) yield
  }
  return changes
}

/** Estimated steps of long work that changes take; it stops to count beyond `stepsMax`. */
export function stepsOfChanges(changes: readonly Alteration[], stepsMax: number): number {
  let steps = changes.length
  for (const change of changes) {
    if (steps > stepsMax) break
    if (!('remove' in change)) steps += stepsOfLabels(('add' in change ? change.add : change.modify).labels)
  }
  return steps
}
