import { ifPresent, systemCode } from '../errors.ts'
import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import { forEachLine } from '../files/lines.ts'
import { isObject, parseJson } from '../json.ts'
import { IMPORT_AUDITED_RECORDS_MAX } from '../limits.ts'

/** Holds several of the longest lines. */
const AUDIT_END_BYTES = 64 * 1024

export type AuditFileName = (typeof auditFiles)[number]

/** The members of a line. */
export type TrailLine = Readonly<Record<string, unknown>>

/**
 * The revision that a line of the trail follows on: no change between them needs a line.
 *
 * @param highest What it is at most, and if the line does not say.
 */
export function revisionBefore({ after }: TrailLine, highest: number): number {
  return typeof after === 'number' ? Math.min(after, highest) : highest
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
  return changes > IMPORT_AUDITED_RECORDS_MAX ? changes : 0
}

/**
 * Visits the lines of one file of the trail. Skips torn and damaged ones; an absent file has none.
 *
 * @param text Only lines that hold it are parsed.
 * @param visit `isClean` is false for a line with NULs before it, as a power loss may leave them.
 * @returns False if the disk cannot read the file (EIO), or not beyond a bad block.
 */
export async function forEachTrailLine(
  folder: DataPaths,
  name: AuditFileName,
  text: string,
  visit: (line: TrailLine, isClean: boolean) => void,
): Promise<boolean> {
  await using opened = new AsyncDisposableStack()
  try {
    const file = await ifPresent(folder.files.open(folder.file(name), 'r'))
    if (file === undefined) return true
    opened.defer(() => file.close())
    await forEachLine(file, (bytes) => {
      if (!bytes.includes(text)) return
      const line = parseJson(bytes.toString('utf8').replace(/^\0+/, ''))
      if (isObject(line)) visit(line, bytes[0] !== 0)
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
