import { once } from 'node:events'
import { lstat, unlink } from 'node:fs/promises'
import { BlockList, connect, isIP, isIPv6 } from 'node:net'
import { ifPresent, systemCode } from '../errors.ts'
import { whyTooLong } from '../files/data-folder.ts'
import { describeProcesses, findProcessesWith, readProcTable } from '../files/processes.ts'

/** The state of a listening socket in /proc/net/tcp (proc_pid_net(5)). */
const LISTENING = '0A'
/** They stand for every address. */
const anyAddresses = new Set(['0.0.0.0', '::'])

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

/**
 * Names the process that listens on a port, for a message: "another process (pid 12, nginx)", or "another process" when
 * it cannot be found out. Only root can find out about a process of another account.
 *
 * @param host The address that is wanted; undefined for every address.
 */
export function describePortOwner(port: number, host: string | undefined): string {
  const rows = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap(readProcTable)
  return describeOwners(
    rows.flatMap(([, local = '', , state, , , , , , inode = '']) => {
      const [address = '', portText = ''] = local.split(':')
      const isTaken = Number.parseInt(portText, 16) === port && overlaps(address, host)
      return state === LISTENING && isTaken ? [inode] : []
    }),
  )
}

/** As `describePortOwner`, for a Unix socket. */
export function describePathOwner(path: string): string {
  return describeOwners(
    readProcTable('/proc/net/unix').flatMap(([, , , , , , inode = '', bound]) => {
      return bound === path ? [inode] : []
    }),
  )
}

function describeOwners(inodes: readonly string[]): string {
  const pids = inodes.flatMap((inode) => findProcessesWith(`socket:[${inode}]`))
  const found = describeProcesses([...new Set(pids)])
  return found === '' ? 'another process' : `another process (${found})`
}

/** Whether a listening address from /proc/net/tcp conflicts with `host`; assumed to if `host` is a name. */
function overlaps(hex: string, host: string | undefined): boolean {
  if (host === undefined || anyAddresses.has(host) || isIP(host) === 0 || /^0+$/.test(hex)) return true
  const [address = ''] = host.split('%')
  const wanted = new BlockList()
  wanted.addAddress(address, isIPv6(address) ? 'ipv6' : 'ipv4')
  const bound = addressOf(hex)
  return wanted.check(bound, isIPv6(bound) ? 'ipv6' : 'ipv4')
}

/** Each group of 4 bytes is in the order of the processor, which is little-endian wherever connbook runs. */
function addressOf(hex: string): string {
  const bytes = Buffer.from(hex, 'hex').swap32()
  if (bytes.length === 4) return bytes.join('.')
  return bytes.toString('hex').replace(/.{4}(?=.)/g, '$&:')
}
