import { once } from 'node:events'
import { lstat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { ifPresent, systemCode } from '../errors.ts'
import { whyTooLong } from '../files/owner-socket.ts'
import { describePathOwner } from './socket-owner.ts'

/**
 * Removes a stale socket file, left by a process that died; anything else stays.
 *
 * @returns Why the path cannot be used, and what to do; undefined if it is free.
 */
export async function clearSocketPath(path: string): Promise<string | undefined> {
  const fault = whyTooLong(path)
  if (fault !== undefined) return `${fault}; choose a shorter one with --listen`
  const found = await ifPresent(lstat(path))
  if (found === undefined) return undefined
  if (!found.isSocket()) {
    return 'something else is there that is no socket; remove it, or choose another path with --listen'
  }
  const failure = await tryConnect(path)
  if (failure === undefined) {
    return `${describePathOwner(path)} listens there; stop it, or choose another path with --listen`
  }
  if (failure !== 'ECONNREFUSED') {
    return `whether another process listens there cannot be told (${failure}); remove it, if none does`
  }
  await ifPresent(unlink(path))
  return undefined
}

/** The error code; undefined if the connection is accepted. */
async function tryConnect(path: string): Promise<string | undefined> {
  const socket = connect({ path })
  try {
    await once(socket, 'connect')
    return undefined
  } catch (error) {
    return systemCode(error) ?? String(error)
  } finally {
    socket.destroy()
  }
}
