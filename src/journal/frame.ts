import { setImmediate as nextTurn } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { TooManyChangesError } from '../errors.ts'
import { LINE_BYTES_MAX } from '../limits.ts'

/** Checksum, length, revision, spaces and newline of a frame. */
const FRAME_START_BYTES_MAX = 40

/**
 * One line of a journal: `<crc32> <length> <first revision> <JSON array>`.
 *
 * The checksum covers the rest of the line and starts from the checksum of the line before. This chain detects lines
 * that were moved, repeated or taken from another journal.
 */
export interface Frame {
  readonly storedCrc: number
  readonly firstRevision: number
  /** JSON of the array of changes. */
  readonly json: Buffer
  /** The checksum that this line must have after one with `previousCrc`. */
  crcAfter(previousCrc: number): number
}

export function encodeFrame(previousCrc: number, firstRevision: number, json: string) {
  const covered = `${Buffer.byteLength(json)} ${firstRevision} ${json}`
  const crc = crc32(covered, previousCrc)
  return { crc, bytes: Buffer.from(`${hex(crc)} ${covered}\n`) }
}

/** As `encodeFrame`, of JSON in pieces; lets others run between them. */
export async function encodePieces(previousCrc: number, firstRevision: number, json: readonly Buffer[]) {
  const start = `${bytesOf(json)} ${firstRevision} `
  let crc = crc32(start, previousCrc)
  for (const [i, piece] of json.entries()) {
    if (i > 0) await nextTurn()
    crc = crc32(piece, crc)
  }
  const pieces = [Buffer.from(`${hex(crc)} ${start}`), ...json, Buffer.from('\n')]
  // A short frame goes to the system in one call.
  return { crc, pieces: json.length > 1 ? pieces : [Buffer.concat(pieces)] }
}

export function bytesOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

/** @throws {TooManyChangesError} if the frame of JSON of so many bytes would exceed LINE_BYTES_MAX. */
export function checkFrameSize(jsonBytes: number) {
  const bytes = jsonBytes + FRAME_START_BYTES_MAX
  if (bytes <= LINE_BYTES_MAX) return
  throw new TooManyChangesError(
    `Cannot store ${bytes} bytes of changes at once; the limit is ${LINE_BYTES_MAX}; make it several`,
  )
}

function hex(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}

/** Splits a line without checking its checksum; undefined when it has not the form of a frame. */
export function parseFrame(line: Buffer): Frame | undefined {
  const match = /^([0-9a-f]{8}) (\d{1,10}) (\d{1,16}) /.exec(line.toString('latin1', 0, 40))
  if (match === null) return undefined
  const json = line.subarray(match[0].length)
  if (json.length !== Number(match[2])) return undefined
  return {
    storedCrc: Number.parseInt(match[1] ?? '', 16),
    firstRevision: Number(match[3]),
    json,
    crcAfter: (previousCrc) => crc32(line.subarray(9), previousCrc),
  }
}

/** The frame at the end of a damaged line, where the newline before the frame was lost. */
export function parseLastFrame(line: Buffer): Frame | undefined {
  for (const { index } of line.toString('latin1').matchAll(/[0-9a-f]{8} \d{1,10} \d{1,16} (?=\[)/g)) {
    const frame = parseFrame(line.subarray(index))
    if (frame !== undefined) return frame
  }
  return undefined
}
