import {
  DamagedFileError,
  ifPresent,
  inFile,
  NewerFormError,
  RESTORE_ADVICE,
  systemCode,
} from '../../errors.ts'
import type { FileSystem, OpenFile } from '../../files/file-system.ts'
import { forEachLine } from '../../files/lines.ts'
import { type Frame, parseFrame } from '../../journal/frame.ts'
import { type JournalStart, readJournalHeader } from '../../journal/journal-reader.ts'
import { isObject, parseJson } from '../../json.ts'
import { CHANGE_VERSION, type Change, ChangeReader } from '../../store/change.ts'

/** Above it, a number is damage; leaves room for the next ids and revisions. */
const STORED_NUMBER_MAX = 10 ** 15

/** The changes of one frame that can be taken for what was written. */
export interface SalvagedFrame {
  readonly firstRevision: number
  /** Undefined for a change that cannot be read. */
  readonly changes: readonly (Change | undefined)[]
  /** Whether its checksum holds. It cannot be checked where the line before is lost; then its form counts. */
  readonly isChecked: boolean
}

/** What can be read of a journal. */
export interface SalvagedJournal {
  /** Undefined when it is lost. */
  readonly header: JournalStart | undefined
  /** In the order of the file. */
  readonly frames: readonly SalvagedFrame[]
  /** The highest that any line names, also a damaged one. */
  readonly highestId: number
}

/**
 * Reads every good frame of a journal, also those after damage.
 *
 * @returns undefined when there is no such file.
 * @throws {DamagedFileError} if a newer connbook wrote it.
 */
export async function salvageJournal(path: string, files: FileSystem): Promise<SalvagedJournal | undefined> {
  let header: JournalStart | undefined
  const frames: SalvagedFrame[] = []
  let highestId = 0
  const isThere = await readTolerantly(path, files, async (file) => {
    header = await findHeader(path, file)
    const take = createFrameCheck()
    await forEachReadableLine(file, (line, offset) => {
      highestId = Math.max(highestId, highestIdIn(line))
      for (const frame of framesIn(line)) {
        try {
          const good = take(frame)
          if (good !== undefined) frames.push(good)
        } catch (error) {
          throw inFile(path, offset, error, RESTORE_ADVICE)
        }
      }
    })
  })
  return isThere ? { header, frames: frames.filter(isInOrder), highestId } : undefined
}

async function findHeader(path: string, file: OpenFile): Promise<JournalStart | undefined> {
  try {
    return await readJournalHeader(path, file, CHANGE_VERSION)
  } catch (error) {
    if (error instanceof DamagedFileError && !(error.cause instanceof NewerFormError)) return undefined
    throw error
  }
}

/** The frames in a line, more than one where line breaks are lost; one undefined for a line without any. */
function framesIn(line: Buffer): (Frame | undefined)[] {
  const whole = parseFrame(line)
  if (whole !== undefined) return [whole]
  const frames: Frame[] = []
  let end = 0
  // A value cannot imitate a frame: inside JSON its quotes are escaped.
  for (const { 0: start, 1: length, index } of line
    .toString('latin1')
    .matchAll(/[0-9a-f]{8} (\d{1,10}) \d{1,16} (?=\[)/g)) {
    const frameEnd = index + start.length + Number(length)
    const frame = index < end ? undefined : parseFrame(line.subarray(index, frameEnd))
    if (frame === undefined) continue
    frames.push(frame)
    end = frameEnd
  }
  return frames.length === 0 ? [undefined] : frames
}

/** Checks each line of a journal against the one before. @returns undefined for a header, and for what is damaged. */
function createFrameCheck(): (frame: Frame | undefined) => SalvagedFrame | undefined {
  /** Checksum of the line before; undefined if that is not a frame. */
  let link: number | undefined
  /** Whether that line was checked. */
  let isLinkChecked = false
  /** Revision of the last change before. */
  let revision: number | undefined

  return (frame) => {
    const inputs = frame && parseArray(frame.json)
    const crcBefore = isHeader(inputs) ? 0 : link
    const isChecked = crcBefore !== undefined && frame?.crcAfter(crcBefore) === frame?.storedCrc
    const isNext = frame?.firstRevision === (revision ?? -1) + 1
    // After a checked line, only missing lines explain a wrong checksum: then there is a gap.
    const mayBeGood = isChecked || !isLinkChecked || !isNext
    link = frame?.storedCrc
    isLinkChecked = false
    if (frame === undefined || inputs === undefined || !mayBeGood || !isPlausible(frame.firstRevision))
      return undefined
    if (isHeader(inputs)) {
      isLinkChecked = isChecked
      revision = frame.firstRevision
      return undefined
    }
    const reader = new ChangeReader()
    const changes = inputs.map((input) => parseTolerantly(reader, input, isChecked))
    if (changes.length === 0 || (!isChecked && changes.includes(undefined))) return undefined
    isLinkChecked = isChecked
    revision = frame.firstRevision + changes.length - 1
    return { firstRevision: frame.firstRevision, changes, isChecked }
  }
}

/** @throws {NewerFormError} if the checksum holds, so that it is not damage. */
function parseTolerantly(reader: ChangeReader, input: unknown, isChecked: boolean): Change | undefined {
  try {
    return reader.read(input)
  } catch (error) {
    if (isChecked && error instanceof NewerFormError) throw error
    return undefined
  }
}

/** Whether the revision of an unchecked frame goes with the next frame: a damaged one must not hide those behind it. */
function isInOrder(
  { firstRevision, changes, isChecked }: SalvagedFrame,
  i: number,
  frames: readonly SalvagedFrame[],
): boolean {
  const next = frames[i + 1]
  return isChecked || next === undefined || next.firstRevision >= firstRevision + changes.length
}

function isHeader(inputs: readonly unknown[] | undefined): boolean {
  return isObject(inputs?.[0]) && 'journal' in inputs[0]
}

function parseArray(json: Buffer): unknown[] | undefined {
  const parsed = parseJson(json.toString('utf8'))
  return Array.isArray(parsed) ? parsed : undefined
}

/** Whether a number that was read can be an id or a revision. */
export function isPlausible(input: unknown): input is number {
  return Number.isSafeInteger(input) && (input as number) >= 0 && (input as number) <= STORED_NUMBER_MAX
}

/** Opens a file and visits what can be read of it. @returns false if it is absent, or cannot be opened (EIO). */
export async function readTolerantly(
  path: string,
  files: FileSystem,
  read: (file: OpenFile) => Promise<void>,
): Promise<boolean> {
  const file = await ifPresent(files.open(path, 'r'), ['ENOENT', 'EIO'])
  if (file === undefined) return false
  try {
    await read(file)
    return true
  } finally {
    await file.close()
  }
}

/** Visits the lines before the first block that the disk cannot read (EIO). */
export async function forEachReadableLine(
  file: OpenFile,
  visit: (line: Buffer, offset: number) => void,
): Promise<void> {
  await forEachLine(file, visit).catch((error: unknown) => {
    if (systemCode(error) !== 'EIO') throw error
  })
}

/** The highest id that a damaged line names; 0 if it names none. */
export function highestIdIn(line: Buffer): number {
  let highest = 0
  // In a text, a quote has a backslash before it.
  for (const [, digits] of line.toString('latin1').matchAll(/"id":(\d{1,15})\b/g))
    highest = Math.max(highest, Number(digits))
  return highest
}
