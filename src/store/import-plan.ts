import { type Fault, InvalidInputError, MemoryFullError } from '../errors.ts'
import { FAULTS_MAX, IMPORT_ROW_MEMORY_BYTES } from '../limits.ts'
import type { LongWork } from '../scheduler.ts'
import { timestamp } from '../timestamp.ts'
import type { Actor, ImportMode, Notes } from './authorship.ts'
import {
  type BulkChange,
  type BulkPlanner,
  type ChangedRecords,
  type ImportPlan,
  planOf,
  type StoredNow,
} from './bulk-change.ts'
import type { Alteration, Change } from './change.ts'
import { Configuration, type ImportedConfiguration, labelsAfter } from './configuration.ts'
import { countLabels, withOwnKeys } from './labels.ts'
import { amountOf, heldMemory, recordMemory } from './record-room.ts'
import { inSteps } from './slices.ts'

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
 * Compares the rows of an import with the records that are stored.
 *
 * @param drafts No two with the same name.
 * @throws {InvalidInputError} if a record would have too many labels, or naming those that the principal may not change so.
 * @throws {MemoryFullError} if the records that it makes take more than `memoryMax`.
 */
export function planImport(
  drafts: readonly ImportedConfiguration[],
  mode: ImportMode,
  stored: StoredNow,
): ImportPlan {
  return planOf(bulkImport(drafts, mode), stored)
}

/** What an import does to the record that has the name of a row. */
interface Decided {
  readonly before: Configuration | undefined
  /** The same as `before` if it is as it shall be already; undefined if the principal may not change it so. */
  readonly after: Configuration | undefined
}

class ImportPlanner implements BulkPlanner {
  readonly #drafts: readonly ImportedConfiguration[]
  readonly #mode: ImportMode
  readonly #stored: StoredNow
  /** For each row, in the order of the file. */
  readonly #decided: Decided[] = []
  /** Where the row of a name is; made once it is needed. */
  readonly #positions = new Map<string, number>()
  readonly #removed: Configuration[] = []
  /** Those of `#removed` that have changed since. A set of all would stop the event loop each time that it doubles. */
  readonly #kept = new Set<Configuration>()
  #refused = 0
  #added = 0
  /** Estimated bytes of the records that it makes, and of those less the ones that they replace. */
  #made = 0
  #growth = 0

  constructor(drafts: readonly ImportedConfiguration[], mode: ImportMode, stored: StoredNow) {
    this.#drafts = drafts
    this.#mode = mode
    this.#stored = stored
  }

  *decide(): LongWork<void> {
    yield* inSteps(this.#drafts, (draft, position) => this.#decideRow(draft, position))
    this.#checkGranted()
    if (this.#mode === 'merge') return
    yield* this.#findPositions()
    yield* inSteps(this.#stored.records, (record) => this.#decideRemoval(record))
  }

  *decideAgain({ records, names }: ChangedRecords): LongWork<void> {
    if (names.length > 0) yield* this.#findPositions()
    yield* inSteps(names, (name) => {
      const position = this.#positions.get(name)
      const draft = position === undefined ? undefined : this.#drafts[position]
      if (position !== undefined && draft !== undefined) this.#decideRow(draft, position)
    })
    yield* inSteps(records, ({ before, after }) => {
      if (before !== undefined && this.#isRemoved(before)) {
        this.#kept.add(before)
        this.#growth += memoryOf(before)
      }
      if (after !== undefined) this.#decideRemoval(after)
    })
  }

  *conclude(lastId: number): LongWork<ImportPlan> {
    this.#checkGranted()
    const added: Configuration[] = []
    const modified: { before: Configuration; after: Configuration }[] = []
    let unchanged = 0
    yield* inSteps(this.#decided, ({ before, after }) => {
      if (after === undefined) throw new Error('a row that is not granted was not refused')
      if (before === after) unchanged += 1
      else if (before !== undefined) modified.push({ before, after })
      else {
        const id = lastId + added.length + 1
        added.push(after.id === id ? after : new Configuration(id, after))
      }
    })
    const removed: Configuration[] = []
    yield* inSteps(this.#removed, (record) => {
      if (!this.#kept.has(record)) removed.push(record)
    })
    return { added, modified, removed, unchanged, growth: this.#growth }
  }

  *#findPositions(): LongWork<void> {
    if (this.#positions.size > 0) return
    yield* inSteps(this.#drafts, ({ name }, position) => this.#positions.set(name, position))
  }

  /** What is decided about a row replaces what was decided before. */
  #decideRow(draft: ImportedConfiguration, position: number) {
    const { access, find, lastId, memoryMax = Number.POSITIVE_INFINITY } = this.#stored
    const last = this.#decided[position]
    if (last !== undefined) this.#count(last, -1)
    const before = find(draft.name)
    const isSeen = before === undefined || access === undefined || access.sees(before)
    // The id that it gets, unless other records are added before its turn.
    const record = isSeen ? recordAfter(before, draft, lastId + this.#added + 1) : undefined
    const isGranted = record === before || record === undefined || access?.mayChange(before, record) !== false
    const decided = { before, after: isGranted ? record : undefined }
    this.#decided[position] = decided
    this.#count(decided, 1)
    if (this.#made > memoryMax)
      throw tooMuchAtOnce(
        'import the records: those that it adds or changes',
        memoryMax,
        'make it several imports',
      )
  }

  #count({ before, after }: Decided, sign: 1 | -1) {
    if (after === undefined) this.#refused += sign
    if (after === undefined || after === before) return
    if (before === undefined) this.#added += sign
    const amount = amountOf(after)
    this.#made += sign * heldMemory(amount)
    this.#growth += sign * (recordMemory(amount) - (before === undefined ? 0 : memoryOf(before)))
  }

  #isRemoved(record: Configuration): boolean {
    if (this.#mode === 'merge' || this.#positions.has(record.name)) return false
    return this.#stored.access?.mayRemove(record) !== false
  }

  #decideRemoval(record: Configuration) {
    if (!this.#isRemoved(record)) return
    this.#removed.push(record)
    this.#growth -= memoryOf(record)
  }

  /** @throws {InvalidInputError} naming the first FAULTS_MAX rows that are not granted. */
  #checkGranted() {
    if (this.#refused === 0) return
    const faults: Fault[] = []
    for (const [position, { name }] of this.#drafts.entries()) {
      if (faults.length === FAULTS_MAX) break
      if (this.#decided[position]?.after === undefined)
        faults.push({ field: 'name', detail: NOT_GRANTED, name })
    }
    throw new InvalidInputError('Cannot import the records; nothing has changed', faults)
  }
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
    planFor: (stored) => new ImportPlanner(drafts, mode, stored),
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
  yield* inSteps(changesOf(plan), (change, position) => {
    changes.push({ ...change, authorship: position === 0 ? first : authorship })
  })
  return changes
}
