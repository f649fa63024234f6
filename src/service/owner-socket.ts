import { lstat, unlink } from 'node:fs/promises'
import { ifPresent } from '../errors.ts'
import { ownerSocketPath, whyTooLong } from '../files/owner-socket.ts'
import type { Log } from '../log.ts'
import type { Listener } from '../server/listener.ts'
import { describeOwner } from '../text.ts'

/** Gives the mode 0600. */
const UMASK = 0o177

/**
 * Makes the owner's socket of a data folder. If that is not possible, a warning says why, and nothing is left behind.
 *
 * @param folder Its path; this process has locked it, so a socket that is there is stale.
 */
export async function listenForOwner(listener: Listener, folder: string, log: Log): Promise<void> {
  if (process.platform === 'win32') return
  const path = ownerSocketPath(folder)
  const reason = await tryListen(listener, path).catch(String)
  if (reason === undefined) return
  await listener.closeForOwner()
  log.warn('owner_socket_not_made', { socket: path, reason })
}

/** @returns Why it is not there. */
async function tryListen(listener: Listener, path: string): Promise<string | undefined> {
  const fault = whyTooLong(path)
  if (fault !== undefined) return fault
  const before = await ifPresent(lstat(path))
  if (before?.isSocket() === false) return 'something else is there that is no socket; move it away'
  if (before !== undefined) await unlink(path)
  await makePrivate(() => listener.listenForOwner(path))
  const made = await lstat(path)
  const isPrivate = made.isSocket() && (made.mode & 0o777) === (0o777 & ~UMASK)
  return isPrivate ? undefined : `the file system does not keep its mode (${describeOwner(made)})`
}

/**
 * Has the socket private from the first moment. No `chmod` by its path: as root, it would change what the owner of the
 * folder puts there meanwhile.
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
