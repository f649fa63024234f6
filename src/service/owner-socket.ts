import { ifPresent } from '../errors.ts'
import { removeIfPresent } from '../files/atomic-file.ts'
import { type DataPaths, ownerSocketPath, whyTooLong } from '../files/data-folder.ts'
import type { FileSystem } from '../files/file-system.ts'
import type { Log } from '../log.ts'
import type { Listener } from '../server/listener.ts'
import { describeOwner } from '../text.ts'

/** Gives the mode 0600. */
const UMASK = 0o177

/**
 * Makes the owner's socket of a data folder. If that is not possible, a warning says why, and nothing is left behind.
 *
 * @param folder This process has locked it, so a socket that is there is stale.
 * @returns Takes the socket away before the listener drains: whoever has connected by then is answered.
 */
export async function listenForOwner(
  listener: Listener,
  folder: DataPaths,
  log: Log,
): Promise<() => Promise<void>> {
  const nothing = async () => {}
  if (process.platform === 'win32') return nothing
  const path = ownerSocketPath(folder.path)
  const reason = await tryListen(listener, path, folder.files).catch(String)
  if (reason === undefined)
    return async () => {
      await removeIfPresent(path, folder.files)
      await listener.acceptOwners()
    }
  await listener.closeForOwner()
  log.warn('owner_socket_failed', { socket: path, reason })
  return nothing
}

/** @returns Why it is not there. */
async function tryListen(listener: Listener, path: string, files: FileSystem): Promise<string | undefined> {
  const fault = whyTooLong(path)
  if (fault !== undefined) return fault
  const before = await ifPresent(files.lstat(path))
  if (before?.isSocket() === false) return 'something else is there that is no socket; move it away'
  if (before !== undefined) await files.unlink(path)
  await files.reach(path, (reached) => makePrivate(() => listener.listenForOwner(reached)))
  const made = await files.lstat(path)
  const isPrivate = made.isSocket() && (made.mode & 0o777) === (0o777 & ~UMASK)
  return isPrivate ? undefined : `the file system does not keep its mode (${describeOwner(made)})`
}

/**
 * Has the socket private from the first moment.
 *
 * @param make Makes the file before it returns.
 */
function makePrivate(make: () => Promise<void>): Promise<void> {
  const before = process.umask(UMASK)
  try {
    return make()
  } finally {
    process.umask(before)
  }
}
