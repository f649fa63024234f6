import { constants } from 'node:fs'
import { ifPresent } from '../errors.ts'
import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import type { OpenFile } from '../files/file-system.ts'
import { isObject, parseJson } from '../json.ts'
import { parseListTag } from '../store/list-tag.ts'
import { revisionBefore, type TrailLine } from './trail-lines.ts'

/** How much of the audit trail is searched in one turn for a history. */
export const TRAIL_PIECE_BYTES = 256 * 1024
/** Ranges of listed changes, with gaps between them, of which a history keeps track. */
export const LISTED_RANGES_MAX = 1_000

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
  /** Gets each of them; a line may come twice. */
  take(line: TrailLine, revision: number): void
  /** Asked after each file, newest first, whether the older ones can have nothing more. */
  isDone(listed: ListedRanges): boolean
}

/** Does a piece of the work when it is its turn. */
export type Turn = <Result>(piece: () => Result) => Promise<Result>

/**
 * Looks through the files of a trail in pieces of TRAIL_PIECE_BYTES, from the newest file to the oldest. Skips lines that
 * are torn or damaged: their changes are not among those that it finds listed.
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
  for (const name of auditFiles) {
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
      await forEachPiece(file, size, buffer, (piece) => turn(() => scan(piece)))
    } finally {
      await file.close()
    }
    if (search.isDone(listed)) break
  }
  return listed
}

/** Gives whole lines, as many as fit. A line longer than the buffer is not about a change; its end comes alone. */
async function forEachPiece(
  file: OpenFile,
  size: number,
  buffer: Buffer,
  take: (lines: Buffer) => Promise<void>,
): Promise<void> {
  let filled = 0
  for (let position = 0; position < size; ) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, position)
    if (bytesRead === 0) return
    position += bytesRead
    filled += bytesRead
    const end = buffer.subarray(0, filled).lastIndexOf(NEWLINE) + 1
    if (end > 0) await take(buffer.subarray(0, end))
    else if (filled === buffer.length) filled = 0
    buffer.copyWithin(0, end, filled)
    filled = Math.max(0, filled - end)
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
      const revision = wanted < end ? undefined : revisionOfOther(lines, tag + tagStart.length)
      if (revision === undefined || (revision <= search.upTo && !listed.extend(revision)))
        parseLine(lines, tag)
      tag = placeOf(tagStart, lines, end)
    }
  }

  function parseLine(lines: Buffer, tag: number): void {
    const end = lines.indexOf(NEWLINE, tag)
    // A power loss may leave NULs before a line.
    const line = parseJson(lines.toString('utf8', startOf(lines, tag), end).replace(/^\0+/, ''))
    if (!isObject(line) || typeof line.time !== 'string' || !TIME.test(line.time)) return
    const parsed = parseListTag(line.tag)
    if (parsed?.store !== search.store || parsed.revision > search.upTo) return
    const { revision } = parsed
    const isChange = typeof line.event === 'string' && line.event.startsWith('configuration_')
    listed.add(revisionBefore(line, isChange ? revision - 1 : revision), revision, line.time)
    if (isChange) search.take(line, revision)
  }
}

/** The place of a text from a place on; that of the end if it does not come. */
function placeOf(text: Buffer, lines: Buffer, start: number): number {
  const place = lines.indexOf(text, start)
  return place === -1 ? lines.length : place
}

/** The revision of the line of a change, by the place behind its tag's `-`; undefined for any other line. */
function revisionOfOther(lines: Buffer, start: number): number | undefined {
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

/** Changes that are all listed: those after one revision, up to another. */
interface RevisionRange {
  after: number
  upTo: number
  /** RFC 3339. The change `after`, and all before it, were made then or earlier. */
  time: string
}

/** Which changes a trail lists, as ranges without a gap. Forgets the lowest beyond LISTED_RANGES_MAX. */
export class ListedRanges {
  /** Rising; no two touch each other. */
  readonly #ranges: RevisionRange[] = []

  /**
   * Adds a change that follows a known one, or is known.
   *
   * @returns False if it is neither: then `add` it, with its time.
   */
  extend(revision: number): boolean {
    const at = this.#firstUpTo(revision - 1)
    const range = this.#ranges[at]
    if (range === undefined || range.after >= revision) return false
    if (range.upTo >= revision) return true
    const next = this.#ranges[at + 1]
    range.upTo = revision
    if (next !== undefined && next.after <= revision) {
      range.upTo = next.upTo
      this.#ranges.splice(at + 1, 1)
    }
    return true
  }

  /**
   * Adds a range; an empty one, with `upTo` like `after`, only adds a time.
   *
   * @param time When the change `after` had been made.
   */
  add(after: number, upTo: number, time: string): void {
    const at = this.#firstUpTo(after)
    const added = { after, upTo, time }
    let end = at
    for (let other = this.#ranges[end]; other !== undefined && other.after <= upTo; ) {
      if (other.after < added.after || (other.after === added.after && other.time < added.time)) {
        added.after = other.after
        added.time = other.time
      }
      added.upTo = Math.max(added.upTo, other.upTo)
      end += 1
      other = this.#ranges[end]
    }
    this.#ranges.splice(at, end - at, added)
    if (this.#ranges.length > LISTED_RANGES_MAX) this.#ranges.shift()
  }

  /** The range that ends with this revision or later, and begins before or with it. */
  find(revision: number): Readonly<RevisionRange> | undefined {
    const range = this.#ranges[this.#firstUpTo(revision)]
    return range !== undefined && range.after <= revision ? range : undefined
  }

  /** Index of the first range that goes up to the revision or further. */
  #firstUpTo(revision: number): number {
    let [low, high] = [0, this.#ranges.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#ranges[middle]?.upTo ?? 0) < revision) low = middle + 1
      else high = middle
    }
    return low
  }
}
