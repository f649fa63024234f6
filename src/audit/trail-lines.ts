import { ifPresent, systemCode } from '../errors.ts'
import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import { forEachLine } from '../files/lines.ts'
import { isObject, parseJson } from '../json.ts'
import { IMPORT_AUDITED_RECORDS_MAX } from '../limits.ts'

/** Holds several of the longest lines. */
const AUDIT_END_BYTES = 64 * 1024

const [BRACE, BRACE_END] = [0x7b, 0x7d]

export type AuditFileName = (typeof auditFiles)[number]

/** The members of a line. */
export type TrailLine = Readonly<Record<string, unknown>>

/**
 * The revision that a line of the trail follows on: no change between them needs a line.
 *
 * @param highest What it is at most, and if the line does not say.
 */
export function revisionBefore({ after }: TrailLine, highest: number): number {
  return Number.isSafeInteger(after) && Number(after) >= 0 ? Math.min(Number(after), highest) : highest
}

/** Whether it lists changes that were made together. */
export function isOfMany({ event }: TrailLine): boolean {
  return (
    event === 'configurations_imported' ||
    event === 'configurations_changed' ||
    event === 'configurations_removed'
  )
}

/** How many changes made together have no line but this one; 0 if each has its own, or there were none. */
export function countUnlisted({ added = 0, modified = 0, removed = 0 }: TrailLine): number {
  const changes = Number(added) + Number(modified) + Number(removed)
  return Number.isSafeInteger(changes) && changes > IMPORT_AUDITED_RECORDS_MAX ? changes : 0
}

/** Highest id that a line may name. Leaves room above for the next ids, however damaged the line is. */
const ID_MAX = 10 ** 15

/** The record that a line names: whole, or by id and name. Undefined if it names none. */
export function recordOf(line: TrailLine): { id: number; name: string } | undefined {
  const { id, name } = isObject(line.record) ? line.record : line
  if (!Number.isSafeInteger(id) || typeof id !== 'number' || id < 1 || id > ID_MAX) return undefined
  return typeof name === 'string' ? { id, name } : undefined
}

function isInBraces(bytes: Buffer): boolean {
  return bytes[0] === BRACE && bytes.at(-1) === BRACE_END
}

/** Where a line stands. */
export interface TrailPlace {
  /** The first is 1. */
  readonly number: number
  /** False for a line with NULs before it, as a power loss may leave them. */
  readonly isClean: boolean
}

/**
 * Visits the lines of one file of the trail. Skips torn and damaged ones; an absent file has none.
 *
 * @param texts Only lines that hold one of them are parsed.
 * @param onDamaged Gets the number of each line that is seen to be damaged, from 1. A last line without an end is only torn.
 * @returns False if the disk cannot read the file (EIO), or not beyond a bad block.
 */
export async function forEachTrailLine(
  folder: DataPaths,
  name: AuditFileName,
  texts: readonly string[],
  visit: (line: TrailLine, place: TrailPlace) => void,
  onDamaged: (number: number) => void = () => {},
): Promise<boolean> {
  await using opened = new AsyncDisposableStack()
  try {
    const file = await ifPresent(folder.files.open(folder.file(name), 'r'))
    if (file === undefined) return true
    opened.defer(() => file.close())
    let number = 0
    await forEachLine(file, (bytes, _, isWhole) => {
      number += 1
      const isClean = bytes[0] !== 0
      const isText = bytes.length === 0 || !isClean || isInBraces(bytes)
      const isWanted = isText && texts.some((text) => bytes.includes(text))
      const line = isWanted ? parseJson(bytes.toString('utf8').replace(/^\0+/, '')) : undefined
      if (isObject(line)) visit(line, { number, isClean })
      else if (isWhole && (isWanted || !isText)) onDamaged(number)
    })
    return true
  } catch (error) {
    if (systemCode(error) === 'EIO') return false
    throw error
  }
}

/**
 * The latest time among the last lines of the trail, in ms since 1970.
 *
 * @returns Undefined if there is no trail, or it cannot be read: other readers say why.
 */
export async function findNewestTime({ files, file }: DataPaths): Promise<number | undefined> {
  try {
    await using opened = new AsyncDisposableStack()
    const trail = await ifPresent(files.open(file(auditFiles[0]), 'r'))
    if (trail === undefined) return undefined
    opened.defer(() => trail.close())
    const start = Math.max(0, (await trail.stat()).size - AUDIT_END_BYTES)
    const bytes = Buffer.alloc(AUDIT_END_BYTES)
    const { bytesRead } = await trail.read(bytes, 0, bytes.length, start)
    const times = bytes.toString('utf8', 0, bytesRead).split('\n').flatMap(timeOf)
    return times.length === 0 ? undefined : Math.max(...times)
  } catch {
    return undefined
  }
}

/** The first line may be cut. */
function timeOf(text: string): number[] {
  const line = parseJson(text)
  const time = isObject(line) ? Date.parse(String(line.time)) : Number.NaN
  return Number.isNaN(time) ? [] : [time]
}
