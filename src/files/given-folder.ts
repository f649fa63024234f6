import { constants } from 'node:fs'
import { FolderRefusedError } from '../errors.ts'
import { describeOwner } from '../text.ts'
import type { FileSystem } from './file-system.ts'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants

/**
 * As root, gives a folder that was just made to the owner of the folder above: the server runs under that account.
 *
 * @throws {FolderRefusedError} if another folder is in its place: the owner of the folder above can exchange it.
 */
export async function giveFolderToOwnerOf(above: string, made: string, files: FileSystem): Promise<void> {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = await files.stat(above)
  if (uid === 0) return
  const folder = await files.open(made, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    const found = await folder.stat()
    if (found.uid === uid) return
    // Only the open folder is looked at: the path can lead to another one at any time.
    const isAsMade = found.uid === 0 && (found.mode & 0o077) === 0 && (await folder.readdir()).length === 0
    if (!isAsMade) {
      throw new FolderRefusedError(
        `Cannot use "${made}": it is not the empty folder that connbook made (${describeOwner(found)}); see who put it there, move it away, and try again`,
      )
    }
    await folder.chown(uid, gid)
  } finally {
    await folder.close()
  }
}
