import { setImmediate as nextTurn } from 'node:timers/promises'
import { STREAM_SLICE_RECORDS } from '../limits.ts'
import type { Configuration } from '../store/configuration.ts'
import type { ExportFormat } from './export-format.ts'

interface Obstacle {
  readonly name: string
  /** Completes "The record …". */
  readonly reason: string
}

export interface Export {
  /** Size of the whole text. */
  readonly bytes: number
  /** Records in the export. */
  readonly count: number
  /** Records that the format cannot express. */
  readonly leftOut: number
  /** The first of those. */
  readonly obstacles: readonly Obstacle[]
  /** The text; can be read once. */
  readonly pieces: Iterable<string>
}

/**
 * Finds the records that the format cannot express, and the size of the export. Yields to the event loop between
 * slices of records.
 *
 * @param freeze Gives the present records; called three times, all before the first wait.
 * @param obstaclesMax Limit of `obstacles`.
 */
export async function prepareExport(
  format: ExportFormat,
  freeze: () => Iterable<Configuration>,
  obstaclesMax: number,
): Promise<Export> {
  const [forKeys, forBytes, forPieces] = [freeze(), freeze(), freeze()]
  const clashes = await findClashes(format, forKeys)
  const { start = '', between = '', end = '' } = format
  const obstacles: Obstacle[] = []
  let [bytes, count, leftOut] = [Buffer.byteLength(start + end), 0, 0]
  const betweenBytes = Buffer.byteLength(between)
  await inSlices(forBytes, (record) => {
    const reason = obstacleOf(record)
    if (reason === undefined) {
      bytes += Buffer.byteLength(format.encode(record)) + (count === 0 ? 0 : betweenBytes)
      count += 1
      return
    }
    leftOut += 1
    if (obstacles.length < obstaclesMax) obstacles.push({ name: record.name, reason })
  })
  const encode = (record: Configuration) =>
    obstacleOf(record) === undefined ? format.encode(record) : undefined
  return { bytes, count, leftOut, obstacles, pieces: piecesOf({ start, between, end }, forPieces, encode) }

  function obstacleOf(record: Configuration): string | undefined {
    const key = format.keyOf?.(record)
    const isClash = key !== undefined && clashes.has(key)
    return format.obstacle?.(record) ?? (isClash ? `would be ${key} like another one` : undefined)
  }
}

/**
 * Joins records into pieces of STREAM_SLICE_RECORDS.
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
  let visited = 0
  let isFirst = true
  for (const record of records) {
    visited += 1
    const text = encode(record)
    if (text !== undefined) {
      piece += isFirst ? text : between + text
      isFirst = false
    }
    // An empty piece, too, lets the sender yield to the event loop.
    if (visited % STREAM_SLICE_RECORDS > 0) continue
    yield take()
  }
  yield piece + end
}

/** The keys of more than one record. */
async function findClashes(format: ExportFormat, records: Iterable<Configuration>): Promise<Set<string>> {
  const clashes = new Set<string>()
  if (format.keyOf === undefined) return clashes
  const seen = new Set<string>()
  await inSlices(records, (record) => {
    const key = format.keyOf?.(record) ?? ''
    if (seen.has(key)) clashes.add(key)
    seen.add(key)
  })
  return clashes
}

async function inSlices(records: Iterable<Configuration>, visit: (record: Configuration) => void) {
  let visited = 0
  for (const record of records) {
    visit(record)
    visited += 1
    if (visited % STREAM_SLICE_RECORDS === 0) await nextTurn()
  }
}
