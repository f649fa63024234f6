import { ifPresent, systemCode } from '../errors.ts'
import type { auditFiles, DataPaths } from '../files/data-folder.ts'
import { forEachLine } from '../files/lines.ts'
import { isObject, parseJson } from '../json.ts'

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
