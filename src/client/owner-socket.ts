import type { Stats } from 'node:fs'
import { ifReachable } from '../errors.ts'
import { type DataPaths, OWNER_SOCKET, ownerSocketPath, whyTooLong } from '../files/data-folder.ts'
import { ROOT } from '../system-account.ts'
import { describeOwner } from '../text.ts'
import { type Endpoint, socketEndpoint } from './endpoint.ts'

export type FoundSocket =
  | { readonly endpoint: Endpoint; readonly reason?: never }
  /** Why it is not used; undefined if it is not there. */
  | {
      readonly endpoint?: never
      readonly reason: string | undefined
    }

/**
 * Finds the owner's socket of a data folder. It is used only if nobody but the owner of the folder can have made it: what
 * is sent there must reach no other account.
 *
 * @param uid The account that asks.
 */
export async function findOwnerSocket(
  { path: folder, files }: DataPaths,
  uid: number | undefined = process.getuid?.(),
): Promise<FoundSocket> {
  const path = ownerSocketPath(folder)
  const [around, found] = await Promise.all([ifReachable(files.stat(folder)), ifReachable(files.lstat(path))])
  if (around === undefined || found === undefined || uid === undefined) return { reason: undefined }
  const reason = whyRefused(around, found, uid) ?? whyTooLong(path)
  return reason === undefined
    ? { endpoint: socketEndpoint(path, files) }
    : { reason: `${OWNER_SOCKET} is not used: ${reason}` }
}

function whyRefused(folder: Stats, socket: Stats, uid: number): string | undefined {
  if (!socket.isSocket()) return 'it is not a socket'
  if ((folder.mode & 0o777) !== 0o700) return `its folder is not private (${describeOwner(folder)})`
  if (uid !== ROOT && folder.uid !== uid)
    return `its folder belongs to another account (${describeOwner(folder)})`
  if (socket.uid !== folder.uid && socket.uid !== ROOT)
    return `it does not belong to the owner of its folder (${describeOwner(socket)})`
  return undefined
}
