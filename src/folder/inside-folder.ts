import { realpath } from 'node:fs/promises'
import { dirname, isAbsolute, relative, sep } from 'node:path'
import { ifReachable } from '../errors.ts'

/** Whether a file at a path would be in a data folder, also behind a link to a folder. A link to a file counts itself. */
export async function isInside(folder: string, path: string): Promise<boolean> {
  const above = await ifReachable(realpath(dirname(path)))
  if (above === undefined) return false
  const way = relative(await realpath(folder), above)
  return way.split(sep)[0] !== '..' && !isAbsolute(way)
}
