import { ifPresent } from '../errors.ts'
import { auditFiles, type DataPaths } from '../files/data-folder.ts'
import { isObject, parseJson } from '../json.ts'

/** Holds several of the longest lines. */
const AUDIT_END_BYTES = 64 * 1024

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
