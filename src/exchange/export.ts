import { NOTED_NAME_BYTES, STREAM_PIECE_CHARACTERS } from '../limits.ts'
import type { LongWork } from '../scheduler.ts'
import type { Configuration } from '../store/configuration.ts'
import type { Matcher } from '../store/record-filter.ts'
import { counted } from '../text.ts'
import type { ExportFormat, ExportTail, RecordBook } from './export-format.ts'
import { HOPS_MAX, hasHops, hostOfHop, namesInHops, resolveWay } from './hops.ts'
import { kindOf } from './kinds.ts'

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
  /** Estimated memory of the clashes, the tail and the hops. */
  readonly notedBytes: number
}

/** Warnings of one export that are shown. */
export const EXPORT_WARNINGS_MAX = 20

/** Cost of skipping a record, in characters of output; decides when to yield. */
const LEFT_OUT_CHARACTERS = 64

interface Clashes {
  readonly clashes: ReadonlySet<string>
  /** Their estimated memory. */
  readonly clashBytes: number
}

const noClashes: Clashes = { clashes: new Set(), clashBytes: 0 }

/**
 * Finds the records that the format cannot express, and the size of the export.
 *
 * @param obstaclesMax Limit of `obstacles`.
 */
export function* summarizeExport(
  format: ExportFormat,
  exported: ExportedRecords,
  obstaclesMax: number,
): LongWork<ExportSummary> {
  const { records } = exported
  const matches = matcherFor(format, exported)
  const { form, hopBytes } = yield* formFor(format, exported, matches)
  const { clashes, clashBytes } = yield* findClashes(form.keyOf, records, matches)
  const { start = '', between = '', end = '' } = form
  const tail = form.begin?.()
  const obstacles: RecordRemark[] = []
  const warnings = new Warnings()
  let [bytes, count, leftOut] = [Buffer.byteLength(start + end), 0, 0]
  const betweenBytes = Buffer.byteLength(between)
  let sliceBytes = 0
  for (const record of records) {
    const isMeant = matches === undefined || matches(record)
    const reason = isMeant ? obstacleOf(form, clashes, record) : undefined
    if (isMeant && reason === undefined) {
      const recordBytes = Buffer.byteLength(form.encode(record)) + (count === 0 ? 0 : betweenBytes)
      bytes += recordBytes
      sliceBytes += recordBytes
      count += 1
      tail?.take(record)
      for (const warning of form.warnings?.(record) ?? []) warnings.add(record.name, warning)
    } else sliceBytes += LEFT_OUT_CHARACTERS
    if (reason !== undefined) {
      leftOut += 1
      if (obstacles.length < obstaclesMax) obstacles.push({ name: record.name, reason })
    }
    if (sliceBytes < STREAM_PIECE_CHARACTERS) continue
    yield
    sliceBytes = 0
  }
  for (const piece of tail?.pieces() ?? []) {
    bytes += Buffer.byteLength(piece)
    yield
  }
  const notedBytes = clashBytes + hopBytes + (tail?.bytes ?? 0)
  const found = {
    obstacles,
    warnings: warnings.list(),
    warningCount: warnings.count,
    clashes,
    tail,
    notedBytes,
  }
  return { form, matches, bytes, count, leftOut, ...found }
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
  return tail === undefined ? pieces : withTail(pieces, summary)
}

/** It holds the summary to the end, so that another export can find it in memory. */
function* withTail(
  pieces: Iterable<string>,
  summary: Partial<Pick<ExportSummary, 'tail'>>,
): Generator<string> {
  yield* pieces
  yield* summary.tail?.pieces() ?? []
}

/**
 * Joins records into pieces of about STREAM_PIECE_CHARACTERS.
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
  let pieceCharacters = 0
  let isFirst = true
  for (const record of records) {
    const text = encode(record)
    if (text === undefined) pieceCharacters += LEFT_OUT_CHARACTERS
    else {
      piece += isFirst ? text : between + text
      pieceCharacters += text.length
      isFirst = false
    }
    // An empty piece, too, lets the sender give others their turn.
    if (pieceCharacters < STREAM_PIECE_CHARACTERS) continue
    pieceCharacters = 0
    yield take()
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
): LongWork<{ readonly form: ExportFormat; readonly hopBytes: number }> {
  const { labelled, addressOf } = format
  const shared = yield* findClashes(addressOf, records, seen)
  if (labelled === undefined || (!hasLabels && shared.clashes.size === 0))
    return { form: format, hopBytes: 0 }
  if (typeof labelled !== 'function') return { form: labelled, hopBytes: 0 }
  const named = hasLabels ? yield* findHops(records, seen) : new Map<string, Configuration>()
  const book: RecordBook = {
    store,
    isShared: (record) => shared.clashes.size > 0 && shared.clashes.has(addressOf?.(record) ?? ''),
    find: (name) => named.get(name),
    keeps: (record) => matches === undefined || matches(record),
  }
  return { form: labelled(book), hopBytes: HOP_BYTES * named.size + shared.clashBytes }
}

/** Memory of a record that is a hop, and of what a format notes of it; the record itself is in memory anyway. */
const HOP_BYTES = 3 * NOTED_NAME_BYTES

/** Those that some record goes through, and those whose name is the host of such a one. */
function* findHops(
  records: Iterable<Configuration>,
  seen: Matcher | undefined,
): LongWork<ReadonlyMap<string, Configuration>> {
  const behind: Configuration[] = []
  const isSeen = (record: Configuration) => seen === undefined || seen(record)
  yield* inSlices(records, (record) => {
    if (hasHops(record) && isSeen(record)) behind.push(record)
  })
  const found = new Map<string, Configuration>()
  if (behind.length === 0) return found
  const all = new Map<string, Configuration>()
  yield* inSlices(records, (record) => isSeen(record) && all.set(record.name, record))
  const find = (name: string) => all.get(name)
  const note = (record: Configuration | undefined) => record && found.set(record.name, record)
  yield* inSlices(
    behind,
    (record) => {
      const way = resolveWay(record, find)
      // The loop is found again by the format, so it needs the records of it.
      for (const name of namesInHops(record)) note(find(name))
      if (typeof way !== 'object') return
      for (const hop of way.all) note(find(hostOfHop(hop)))
    },
    HOPS_MAX * LEFT_OUT_CHARACTERS,
  )
  return found
}

/** The keys of more than one record. */
function* findClashes(
  keyOf: ExportFormat['keyOf'],
  records: Iterable<Configuration>,
  matches: Matcher | undefined,
): LongWork<Clashes> {
  if (keyOf === undefined) return noClashes
  let clashBytes = 0
  const clashes = new Set<string>()
  const seen = new Set<string>()
  yield* inSlices(records, (record) => {
    if (matches?.(record) === false) return
    const key = keyOf(record)
    if (seen.has(key) && !clashes.has(key)) {
      clashes.add(key)
      clashBytes += NOTED_NAME_BYTES + key.length
    }
    seen.add(key)
  })
  return { clashes, clashBytes }
}

/** Whether some of the records that are seen have labels. */
export function* haveLabels(records: Iterable<Configuration>, seen: Matcher): LongWork<boolean> {
  let found = false
  yield* inSlices(records, (record) => {
    found ||= record.labels !== undefined && seen(record)
  })
  return found
}

function* inSlices(
  records: Iterable<Configuration>,
  take: (record: Configuration) => unknown,
  recordCharacters = LEFT_OUT_CHARACTERS,
): LongWork<void> {
  let sliceCharacters = 0
  for (const record of records) {
    take(record)
    sliceCharacters += recordCharacters
    if (sliceCharacters < STREAM_PIECE_CHARACTERS) continue
    yield
    sliceCharacters = 0
  }
}
