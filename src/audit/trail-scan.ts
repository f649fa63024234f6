import { constants } from 'node:fs'
import { ifPresent } from '../errors.ts'
import { readAt } from '../files/atomic-file.ts'
import { auditFiles, type DataPaths, dataFiles } from '../files/data-folder.ts'
import type { OpenFile } from '../files/file-system.ts'
import { isObject, parseJson } from '../json.ts'
import { parseListTag } from '../store/list-tag.ts'
import { ListedRanges } from './listed-ranges.ts'
import { countUnlisted, isOfMany, revisionBefore, type TrailLine } from './trail-lines.ts'

/** How much of the audit trail is read at once for a history, and searched in one turn where few lines are parsed. */
export const TRAIL_PIECE_BYTES = 256 * 1024

const NEWLINE = 0x0a
const [ZERO, NINE, COMMA] = [0x30, 0x39, 0x2c]
const DIGITS_MAX = 12
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
/** What stands between the tag and the id of a line of a change. */
const beforeId = ['","id":', '","record":{"id":'].map((text) => Buffer.from(text))

/** Does not wait for a writer, should a file be a pipe. */
const READ = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)

/** What to search the trail for. */
export interface TrailSearch {
  /** As `storeOfTag` gives it; lines of other stores do not count. */
  readonly store: string
  /** Later changes do not count. */
  readonly upTo: number
  /** Only changes that hold it after their tag are parsed. */
  readonly text: string
  /** Whether lines that only count changes are taken, too: then those changes count as listed. */
  readonly takesCounts?: true
  /** How much is searched in one turn; at least a line. */
  readonly turnBytes: number
  /** Gets each line; one may come twice. @param bytes Its length. */
  take(line: TrailLine, revision: number, bytes: number): void
  /** Asked at the end of each turn whether older lines can have nothing more. */
  isDone(listed: ListedRanges): boolean
}

/** Does a piece of the work when it is its turn. */
export type Turn = <Result>(piece: () => Result) => Promise<Result>

/**
 * Looks through the files of a trail, from the end of the newest file to the start of the oldest; the lines of a turn come
 * in their order. Skips lines that are torn or damaged: their changes are not among those that it finds listed.
 *
 * @returns Which changes the files that were read list.
 * @throws the system's error; EINVAL for a file that is not a plain one.
 */
export async function scanTrail(folder: DataPaths, search: TrailSearch, turn: Turn): Promise<ListedRanges> {
  const listed = new ListedRanges()
  const scan = createLineScan(search, listed)
  const buffer = Buffer.allocUnsafe(TRAIL_PIECE_BYTES)
  const seen = new Set<string>()
  // A rotation meanwhile gives files later names, so that one may come again, but none is missed.
  // What a restore has put before the trail is older than all of it.
  for (const name of [...auditFiles, dataFiles.history]) {
    const file = await ifPresent(folder.files.open(folder.file(name), READ))
    if (file === undefined) continue
    try {
      const stats = await file.stat()
      if (!stats.isFile())
        throw Object.assign(new Error(`EINVAL: "${folder.file(name)}" is no plain file`), { code: 'EINVAL' })
      const { dev, ino, size } = stats
      const identity = `${dev} ${ino}`
      if (seen.has(identity)) continue
      seen.add(identity)
      for await (const piece of piecesFromEnd(file, size, buffer))
        for (const lines of partsFromEnd(piece, search.turnBytes)) {
          const isDone = await turn(() => {
            scan(lines)
            return search.isDone(listed)
          })
          if (isDone) return listed
        }
    } finally {
      await file.close()
    }
  }
  return listed
}

/**
 * Whole lines, as many as fit, from the end of a file to its start. Leaves out half a line at the end, and lines longer than
 * the buffer, which are not about changes.
 */
async function* piecesFromEnd(file: OpenFile, size: number, buffer: Buffer): AsyncGenerator<Buffer> {
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - buffer.length)
    const piece = buffer.subarray(0, end - start)
    if ((await readAt(file, start, piece)) < piece.length) return
    const first = start === 0 ? 0 : piece.indexOf(NEWLINE) + 1
    const last = piece.lastIndexOf(NEWLINE) + 1
    if (first < last) yield piece.subarray(first, last)
    end = first < piece.length ? start + first : start
  }
}

/** Whole lines from the end to the start, each time as many as fit, but at least one. */
function* partsFromEnd(lines: Buffer, bytes: number): Generator<Buffer> {
  for (let end = lines.length; end > 0; ) {
    const wanted = Math.max(0, end - bytes)
    const next = wanted === 0 ? 0 : lines.indexOf(NEWLINE, wanted - 1) + 1
    const start = next < end ? next : startOf(lines, end - 2)
    yield lines.subarray(start, end)
    end = start
  }
}

/**
 * Makes a function that takes whole lines. Most are of other records, and are not parsed: revision and id are read where
 * they stand. Only the first tag of a line counts: a label behind it may look like one, and would cost a check each.
 */
function createLineScan(search: TrailSearch, listed: ListedRanges) {
  // It begins where it is found fastest: the `g` is rarer than the quotes.
  const tagStart = Buffer.from(`g":"${search.store}-`)
  const text = Buffer.from(search.text)
  return scanLines

  function scanLines(lines: Buffer): void {
    let wanted = placeOf(text, lines, 0)
    for (let tag = placeOf(tagStart, lines, 0); tag < lines.length; ) {
      const end = lines.indexOf(NEWLINE, tag)
      if (wanted < tag) wanted = placeOf(text, lines, tag)
      const revision = revisionOfChange(lines, tag + tagStart.length)
      if (revision === undefined || revision <= search.upTo)
        if (wanted < end || revision === undefined || !listed.extend(revision)) parseLine(lines, tag)
      tag = placeOf(tagStart, lines, end)
    }
  }

  function parseLine(lines: Buffer, tag: number): void {
    const end = lines.indexOf(NEWLINE, tag)
    // A power loss may leave NULs before a line.
    const line = parseJson(lines.toString('utf8', startOf(lines, tag), end).replace(/^\0+/, ''))
    if (!isObject(line) || !isTime(line.time)) return
    const parsed = parseListTag(line.tag)
    if (parsed?.store !== search.store || parsed.revision > search.upTo) return
    const { revision } = parsed
    const isChange = typeof line.event === 'string' && line.event.startsWith('configuration_')
    const counted = search.takesCounts && isOfMany(line) ? countUnlisted(line) : 0
    // In a cluster, changes that are only counted share a revision, and say which one they follow on.
    const follows = typeof line.follows === 'number' ? line.follows : revision - counted
    const before = counted > 0 ? Math.min(follows, revision) : revision
    listed.add(revisionBefore(line, isChange ? revision - 1 : before), revision, line.time)
    if (isChange || counted > 0) search.take(line, revision, end - tag)
  }
}

/** A damaged digit may name a month 13 or an hour 25. */
function isTime(input: unknown): input is string {
  return typeof input === 'string' && TIME.test(input) && !Number.isNaN(Date.parse(input))
}

/** The place of a text from a place on; that of the end if it does not come. */
function placeOf(text: Buffer, lines: Buffer, start: number): number {
  const place = lines.indexOf(text, start)
  return place === -1 ? lines.length : place
}

/** The revision of the line of a change of one record, by the place behind its tag's `-`; undefined for any other line. */
function revisionOfChange(lines: Buffer, start: number): number | undefined {
  let end = start
  let revision = 0
  for (let digit = digitAt(lines, end); digit !== undefined; digit = digitAt(lines, ++end))
    revision = revision * 10 + digit
  if (end === start || end - start > DIGITS_MAX) return undefined
  for (const between of beforeId) {
    let idEnd = endOfText(lines, end, between)
    if (idEnd === undefined || digitAt(lines, idEnd) === undefined) continue
    while (digitAt(lines, idEnd) !== undefined) idEnd += 1
    if (lines[idEnd] === COMMA) return revision
  }
  return undefined
}

/** Undefined if the text is not at this place. In JavaScript: a native call for each line takes longer. */
function endOfText(lines: Buffer, start: number, text: Buffer): number | undefined {
  for (let i = 0; i < text.length; i++) if (lines[start + i] !== text[i]) return undefined
  return start + text.length
}

function digitAt(lines: Buffer, place: number): number | undefined {
  const byte = lines[place]
  return byte !== undefined && byte >= ZERO && byte <= NINE ? byte - ZERO : undefined
}

function startOf(lines: Buffer, place: number): number {
  return lines.lastIndexOf(NEWLINE, place) + 1
}
