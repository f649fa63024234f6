import { DamagedFileError, inFile, NewerFormError, RESTORE_ADVICE } from '../errors.ts'
import { readAt } from '../files/atomic-file.ts'
import type { OpenFile } from '../files/file-system.ts'
import { forEachLine } from '../files/lines.ts'
import { checkMembers, isNewerVersion, isObject, isVersion, parseJson } from '../json.ts'
import { type Frame, parseFrame, parseLastFrame } from './frame.ts'

/** What a journal begins with. */
export interface JournalStart {
  readonly store: string
  /** Revision before the first change. */
  readonly after: number
  /** Form of its changes. */
  readonly version: number
}

/** The end of the valid part of a journal. */
export interface JournalEnd {
  /** Bytes of the valid part. */
  readonly size: number
  /** Checksum of its last line. */
  readonly crc: number
  /** Revision of its last change. */
  readonly revision: number
  /** Revision before its last line. */
  readonly beforeLast: number
  /** Bytes of the torn tail: a frame that a crash cut off, or that is being written. */
  readonly tornBytes: number
}

const HEADER_BYTES_MAX = 1024

/**
 * @param newest Newest form that the caller knows.
 * @throws {DamagedFileError} when the first line is not a header, or has an unknown version.
 */
export async function readJournalHeader(path: string, file: OpenFile, newest: number): Promise<JournalStart> {
  const start = Buffer.alloc(HEADER_BYTES_MAX)
  const newline = start.subarray(0, await readAt(file, 0, start)).indexOf('\n')
  const frame = newline === -1 ? undefined : parseFrame(start.subarray(0, newline))
  if (frame === undefined || frame.crcAfter(0) !== frame.storedCrc)
    throw new DamagedFileError(path, 0, 'the first line is not a journal header', RESTORE_ADVICE)
  try {
    return { ...parseHeader(parseArray(frame.json)?.[0], newest), after: frame.firstRevision }
  } catch (error) {
    throw inFile(path, 0, error, RESTORE_ADVICE)
  }
}

function parseHeader(input: unknown, newest: number) {
  if (!isObject(input)) throw new SyntaxError('the header names no store')
  const { journal: version, store, ...others } = input
  if (isNewerVersion(version, newest)) throw new NewerFormError(`journal version ${version}`, newest)
  if (!isVersion(version)) throw new SyntaxError('the header has no valid version')
  checkMembers(others, [], 'the header')
  if (typeof store !== 'string') throw new SyntaxError('the header names no store')
  return { store, version }
}

/**
 * Visits each change with its revision.
 *
 * Frames are written one at a time, so only the last can be torn. A bad line is damage when a frame after it continues
 * the valid part, or has a later revision.
 *
 * @throws {DamagedFileError} with the offset of the first bad line.
 */
export async function readJournal(
  path: string,
  file: OpenFile,
  header: JournalStart,
  visit: (change: unknown, revision: number) => void,
): Promise<JournalEnd> {
  let size = 0
  let crc = 0
  let revision = header.after
  let beforeLast = header.after
  let badOffset: number | undefined

  await forEachLine(file, (line, offset, isWhole) => {
    const frame = isWhole ? parseFrame(line) : undefined
    const fits = frame !== undefined && (offset === 0 || isNext(frame))
    if (fits && badOffset === undefined) {
      beforeLast = revision
      if (offset > 0) visitChanges(frame, offset)
      size = offset + line.length + 1
      crc = frame.storedCrc
      return
    }
    const later = frame ?? (isWhole ? parseLastFrame(line) : undefined)
    badOffset ??= offset
    if (fits) throw damage(badOffset, 'a damaged line stands before a good one')
    if (later !== undefined && isBeyondNext(later)) {
      const reason = `the changes from revision ${revision + 1} to ${later.firstRevision - 1} are damaged or missing`
      throw damage(badOffset, reason)
    }
  })
  return { size, crc, revision, beforeLast, tornBytes: (await file.stat()).size - size }

  function isNext(frame: Frame): boolean {
    return frame.firstRevision === revision + 1 && frame.crcAfter(crc) === frame.storedCrc
  }

  function damage(offset: number, reason: string, cause?: unknown) {
    return new DamagedFileError(path, offset, reason, RESTORE_ADVICE, { cause })
  }

  /** Its checksum needs the lost frame before it, so this checks the form; a torn write cannot have it. */
  function isBeyondNext(frame: Frame): boolean {
    return frame.firstRevision > revision + 1 && parseArray(frame.json) !== undefined
  }

  function visitChanges(frame: Frame, offset: number) {
    try {
      for (const change of parseArray(frame.json) ?? [undefined]) {
        revision += 1
        visit(change, revision)
      }
    } catch (error) {
      if (error instanceof NewerFormError) throw inFile(path, offset, error, RESTORE_ADVICE)
      const reason = `revision ${revision} does not fit (${error instanceof Error ? error.message : error})`
      throw damage(offset, reason, error)
    }
  }
}

function parseArray(json: Buffer): unknown[] | undefined {
  const parsed = parseJson(json.toString('utf8'))
  return Array.isArray(parsed) ? parsed : undefined
}
