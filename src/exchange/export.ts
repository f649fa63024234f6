import { NOTED_NAME_BYTES, STREAM_PIECE_CHARACTERS } from '../limits.ts'
import type { LongWork } from '../scheduler.ts'
import type { Configuration } from '../store/configuration.ts'
import type { ExportFormat, ExportTail } from './export-format.ts'

interface Obstacle {
  readonly name: string
  /** Completes "The record …". */
  readonly reason: string
}

/** What must be known of an export before it is sent. */
export interface ExportSummary {
  /** Size of the whole text. */
  readonly bytes: number
  /** Records in the export. */
  readonly count: number
  /** Records that the format cannot express. */
  readonly leftOut: number
  /** The first of those. */
  readonly obstacles: readonly Obstacle[]
  /** Keys of more than one record. */
  readonly clashes: ReadonlySet<string>
  /** Undefined for a format without one. */
  readonly tail: ExportTail | undefined
  /** Estimated memory of the clashes and the tail. */
  readonly notedBytes: number
}

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
 * @param records Read once, or twice for a format with keys of its own.
 * @param obstaclesMax Limit of `obstacles`.
 */
export function* summarizeExport(
  format: ExportFormat,
  records: Iterable<Configuration>,
  obstaclesMax: number,
): LongWork<ExportSummary> {
  const { clashes, clashBytes } = yield* findClashes(format, records)
  const { start = '', between = '', end = '' } = format
  const tail = format.begin?.()
  const obstacles: Obstacle[] = []
  let [bytes, count, leftOut] = [Buffer.byteLength(start + end), 0, 0]
  const betweenBytes = Buffer.byteLength(between)
  let sliceBytes = 0
  for (const record of records) {
    const reason = obstacleOf(format, clashes, record)
    if (reason === undefined) {
      const recordBytes = Buffer.byteLength(format.encode(record)) + (count === 0 ? 0 : betweenBytes)
      bytes += recordBytes
      sliceBytes += recordBytes
      count += 1
      tail?.take(record)
    } else {
      leftOut += 1
      sliceBytes += LEFT_OUT_CHARACTERS
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
  const notedBytes = clashBytes + (tail?.bytes ?? 0)
  return { bytes, count, leftOut, obstacles, clashes, tail, notedBytes }
}

/**
 * The text of an export.
 *
 * @param records The same as for `summarizeExport`.
 */
export function exportPieces(
  format: ExportFormat,
  records: Iterable<Configuration>,
  summary: Pick<ExportSummary, 'clashes'> & Partial<Pick<ExportSummary, 'tail'>>,
): Iterable<string> {
  const { clashes, tail } = summary
  const { start = '', between = '', end = '' } = format
  const pieces = piecesOf({ start, between, end }, records, (record) =>
    obstacleOf(format, clashes, record) === undefined ? format.encode(record) : undefined,
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
  format: ExportFormat,
  clashes: ReadonlySet<string>,
  record: Configuration,
): string | undefined {
  const reason = format.obstacle?.(record)
  if (reason !== undefined || format.keyOf === undefined || clashes.size === 0) return reason
  const key = format.keyOf(record)
  return clashes.has(key) ? `would be ${key} like another one` : undefined
}

/** The keys of more than one record. */
function* findClashes({ keyOf }: ExportFormat, records: Iterable<Configuration>): LongWork<Clashes> {
  if (keyOf === undefined) return noClashes
  let clashBytes = 0
  const clashes = new Set<string>()
  const seen = new Set<string>()
  let sliceBytes = 0
  for (const record of records) {
    const key = keyOf(record)
    if (seen.has(key) && !clashes.has(key)) {
      clashes.add(key)
      clashBytes += NOTED_NAME_BYTES + key.length
    }
    seen.add(key)
    sliceBytes += LEFT_OUT_CHARACTERS
    if (sliceBytes < STREAM_PIECE_CHARACTERS) continue
    yield
    sliceBytes = 0
  }
  return { clashes, clashBytes }
}
