import { BlockList, isIP, isIPv6 } from 'node:net'
import { describeProcesses, findProcessesWith, readProcTable } from '../files/processes.ts'

/** The state of a listening socket in /proc/net/tcp (proc_pid_net(5)). */
const LISTENING = '0A'

/** They stand for every address. */
const anyAddresses = new Set(['0.0.0.0', '::'])

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
