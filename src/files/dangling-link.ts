import { readlinkSync } from 'node:fs'
import { dirname } from 'node:path'
import { ifPresent } from '../errors.ts'
import type { FileSystem } from './file-system.ts'
import { refused } from './refusal.ts'

/**
 * Checks that a path is no link to nothing, and leads through none: what it names is often not mounted.
 *
 * @throws {FolderRefusedError} that names the link and where it leads.
 */
export async function checkNoDanglingLink(path: string, files: FileSystem): Promise<void> {
  const found = await ifPresent(files.lstat(path), ['ENOENT', 'ENOTDIR', 'ELOOP'])
  if (found === undefined) {
    if (dirname(path) !== path) await checkNoDanglingLink(dirname(path), files)
    return
  }
  if (!found.isSymbolicLink()) return
  if ((await ifPresent(files.stat(path), ['ENOENT', 'ENOTDIR', 'ELOOP'])) !== undefined) return
  const target = files.reach(path, (own) => readlinkSync(own))
  throw refused(
    path,
    `it is a link to "${target}", and nothing is there`,
    undefined,
    'mount or make that folder, or name another with --data',
  )
}
