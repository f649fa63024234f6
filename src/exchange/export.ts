import { STREAM_PIECE_CHARACTERS } from '../limits.ts'
import { type LongWork, SliceClock } from '../scheduler.ts'
import type { Configuration } from '../store/configuration.ts'
import type { Matcher } from '../store/record-filter.ts'
import { ITEMS_A_STEP, inSteps } from '../store/slices.ts'
import { counted } from '../text.ts'
import type { ExportFormat, ExportTail } from './export-format.ts'
import { ExportNotes } from './export-notes.ts'
import { kindOf } from './kinds.ts'
import { findClashes, findHops } from './noted-records.ts'

/** Something to say of a record. */
export interface RecordRemark {
  readonly name: string
  /** Completes "The record …". */
  readonly reason: string
}

/** What an export is of. */
export interface ExportedRecords {
  /** Id of their store, if there is one. */
  readonly store?: string | undefined
  /** All records of one moment; they are read several times. */
  readonly records: Iterable<Configuration>
  readonly hasLabels: boolean
  /** Which of them are meant; without it all. Hops may be any that are seen. */
  readonly matches?: Matcher | undefined
  /** Which of them are there for the one who asks; without it all. */
  readonly seen?: Matcher | undefined
}

/** What must be known of an export before it is sent. */
export interface ExportSummary {
  /** The format as these records need it. */
  readonly form: ExportFormat
  /** Which records are meant, by filter and kind; undefined if all are. */
  readonly matches: Matcher | undefined
  /** Size of the whole text. */
  readonly bytes: number
  /** Records in the export. */
  readonly count: number
  /** Records that are meant, and that the format cannot express. */
  readonly leftOut: number
  /** The first of those. */
  readonly obstacles: readonly RecordRemark[]
  /** The first kinds of warnings, each with its first record and the number of the others. */
  readonly warnings: readonly RecordRemark[]
  /** Those, and the warnings of other kinds. */
  readonly warningCount: number
  /** Keys of more than one record. */
  readonly clashes: ReadonlySet<string>
  /** Undefined for a format without one. */
  readonly tail: ExportTail | undefined
  /** Estimated memory of what had to be noted of records: the clashes, the tail and the hops. */
  readonly notedBytes: number
}

/** Warnings of one export that are shown. */
export const EXPORT_WARNINGS_MAX = 20

/**
 * Finds the records that the format cannot express, and the size of the export.
 *
 * @param obstaclesMax Limit of `obstacles`.
 * @param notedMax Bytes that its notes may take.
 * @throws {AnswerTooLargeError} if they would take more.
 */
export function* summarizeExport(
  format: ExportFormat,
  exported: ExportedRecords,
  obstaclesMax: number,
  notedMax = Number.POSITIVE_INFINITY,
): LongWork<ExportSummary> {
  const { records } = exported
  const notes = new ExportNotes(notedMax)
  const total = notesNames(format, exported.hasLabels) ? yield* countOf(records) : 0
  const matches = matcherFor(format, exported)
  const form = yield* formFor(format, exported, matches, notes, total)
  const clashes = yield* findClashes(form.keyOf, records, matches, notes, total)
  const { start = '', between = '', end = '' } = form
  const tail = form.begin?.(notes, total)
  const obstacles: RecordRemark[] = []
  const warnings = new Warnings()
  let [bytes, count, leftOut] = [Buffer.byteLength(start + end), 0, 0]
  const betweenBytes = Buffer.byteLength(between)
  yield* inSteps(records, (record, position) => {
    const isMeant = matches === undefined || matches(record)
    const reason = isMeant ? obstacleOf(form, clashes, record) : undefined
    if (isMeant && reason === undefined) {
      bytes += Buffer.byteLength(form.encode(record)) + (count === 0 ? 0 : betweenBytes)
      count += 1
      tail?.take(record, position)
      for (const warning of form.warnings?.(record) ?? []) warnings.add(record.name, warning)
    }
    if (reason !== undefined) {
      leftOut += 1
      if (obstacles.length < obstaclesMax) obstacles.push({ name: record.name, reason })
    }
  })
  if (tail !== undefined) bytes += yield* bytesOfTail(tail, records)
  const noted = { clashes, tail, notedBytes: notes.bytes }
  const remarks = { obstacles, warnings: warnings.list(), warningCount: warnings.count }
  return { form, matches, bytes, count, leftOut, ...remarks, ...noted }
}

/** Whether an export in the format notes names of records, or positions, before it is sent. */
export function notesNames({ keyOf, addressOf, begin, labelled }: ExportFormat, hasLabels: boolean): boolean {
  const notesAny = [keyOf, addressOf, begin].some((noting) => noting !== undefined)
  return notesAny || (hasLabels && typeof labelled === 'function')
}

function* bytesOfTail(tail: ExportTail, records: Iterable<Configuration>): LongWork<number> {
  yield* tail.settle(records)
  let bytes = 0
  for (const piece of tail.pieces(records)) {
    bytes += Buffer.byteLength(piece)
    yield
  }
  return bytes
}

/** Warnings of records, in which what is the same for many of them stands once. */
class Warnings {
  /** By what they say; the first ones, so that they stay small. */
  readonly #kinds = new Map<string, { readonly name: string; records: number }>()
  #others = 0

  get count(): number {
    return this.#kinds.size + this.#others
  }

  add(name: string, reason: string): void {
    const known = this.#kinds.get(reason)
    if (known !== undefined) known.records += 1
    else if (this.#kinds.size < EXPORT_WARNINGS_MAX) this.#kinds.set(reason, { name, records: 1 })
    else this.#others += 1
  }

  list(): RecordRemark[] {
    return Array.from(this.#kinds, ([reason, { name, records }]) => {
      const more =
        records === 1 ? '' : `; so ${records === 2 ? 'does' : 'do'} ${counted(records - 1, 'more record')}`
      return { name, reason: `${reason}${more}` }
    })
  }
}

/**
 * The text of an export.
 *
 * @param records The same as for `summarizeExport`.
 */
export function exportPieces(
  records: Iterable<Configuration>,
  summary: Pick<ExportSummary, 'form' | 'clashes'> & Partial<Pick<ExportSummary, 'matches' | 'tail'>>,
): Iterable<string> {
  const { form, matches, clashes, tail } = summary
  const { start = '', between = '', end = '' } = form
  const pieces = piecesOf({ start, between, end }, records, (record) =>
    (matches === undefined || matches(record)) && obstacleOf(form, clashes, record) === undefined
      ? form.encode(record)
      : undefined,
  )
  return tail === undefined ? pieces : withTail(pieces, records, summary)
}

/** It holds the summary to the end, so that another export can find it in memory. */
function* withTail(
  pieces: Iterable<string>,
  records: Iterable<Configuration>,
  summary: Partial<Pick<ExportSummary, 'tail'>>,
): Generator<string> {
  yield* pieces
  yield* summary.tail?.pieces(records) ?? []
}

/**
 * Joins records into pieces of about STREAM_PIECE_CHARACTERS, or of what a slice has time for: a long piece of short texts
 * takes longer to send.
 *
 * @param encode Returns undefined for a record to leave out.
 */
export function* piecesOf(
  { start, between, end }: { readonly start: string; readonly between: string; readonly end: string },
  records: Iterable<Configuration>,
  encode: (record: Configuration) => string | undefined,
): Generator<string> {
  let piece = start
  /** A piece in a variable would stay in memory until the client has taken it and the generator goes on. */
  const take = () => {
    const taken = piece
    piece = ''
    return taken
  }
  const clock = new SliceClock()
  clock.begin()
  let isFirst = true
  let looked = 0
  for (const record of records) {
    const text = encode(record)
    if (text !== undefined) {
      piece += isFirst ? text : between + text
      isFirst = false
    }
    looked += 1
    const isOver = looked % ITEMS_A_STEP === 0 && clock.isOverAfterStep()
    if (!isOver && piece.length < STREAM_PIECE_CHARACTERS) continue
    yield take()
    clock.begin()
  }
  yield piece + end
}

function obstacleOf(
  form: ExportFormat,
  clashes: ReadonlySet<string>,
  record: Configuration,
): string | undefined {
  const reason = form.obstacle?.(record)
  if (reason !== undefined || form.keyOf === undefined || clashes.size === 0) return reason
  const key = form.keyOf(record)
  return clashes.has(key) ? `would be ${key} like another one` : undefined
}

/** The records that a format is for, of those that the filter keeps. */
function matcherFor(
  { kind, isMeant }: ExportFormat,
  { matches, hasLabels }: ExportedRecords,
): Matcher | undefined {
  const isOfKind =
    kind === undefined || !hasLabels
      ? undefined
      : (record: Configuration) => (kindOf(record.labels) ?? kind) === kind
  const all = [isOfKind, isMeant, matches].filter((each) => each !== undefined)
  return all.length < 2 ? all[0] : (record) => all.every((each) => each(record))
}

/** The format as these records need it. */
function* formFor(
  format: ExportFormat,
  { store = '', records, hasLabels, seen }: ExportedRecords,
  matches: Matcher | undefined,
  notes: ExportNotes,
  total: number,
): LongWork<ExportFormat> {
  const { labelled, addressOf } = format
  const shared = yield* findClashes(addressOf, records, seen, notes, total)
  if (labelled === undefined || (!hasLabels && shared.size === 0)) return format
  if (typeof labelled !== 'function') return labelled
  const named = hasLabels ? yield* findHops(records, seen, notes, total) : new Map<string, Configuration>()
  return labelled({
    store,
    isShared: (record) => shared.size > 0 && shared.has(addressOf?.(record) ?? ''),
    find: (name) => named.get(name),
    keeps: (record) => matches === undefined || matches(record),
  })
}

function* countOf(records: Iterable<Configuration>): LongWork<number> {
  let count = 0
  yield* inSteps(records, () => {
    count += 1
  })
  return count
}

/** Whether some of the records that are seen have labels. */
export function* haveLabels(records: Iterable<Configuration>, seen: Matcher): LongWork<boolean> {
  let found = false
  yield* inSteps(records, (record) => {
    found ||= record.labels !== undefined && seen(record)
  })
  return found
}
