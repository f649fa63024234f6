import { lookup } from 'node:dns/promises'
import { fstatSync, readFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { isIP, isIPv6 } from 'node:net'
import { resolve } from 'node:path'
import { ConnbookError, systemCode, UsageError } from '../errors.ts'
import { isLoopback } from '../network.ts'
import type { Listener, Place } from '../server/listener.ts'
import type { ServerOptions } from './server-options.ts'
import { clearSocketPath, describePortOwner } from './socket-path.ts'

/** The first passed descriptor (sd_listen_fds(3)). */
const FIRST_PASSED = 3

/** Owner and group may connect. */
const SOCKET_MODE = 0o660

export class ListenError extends ConnbookError {
  readonly code = 'cannot_listen'
}

export interface Reached {
  /** Such as `http://localhost:8080`. */
  readonly origin: string
  /** The IP address listened on, of several one that other machines can reach; undefined for a Unix socket. */
  readonly address: string | undefined
  /** The path of the Unix socket, or `descriptor 3` if its path is unknown; undefined for TCP. */
  readonly socket: string | undefined
}

/**
 * Listens on the socket that systemd passes, else on the Unix socket or the address that the options name. Of a host
 * name it takes every address that this machine has.
 *
 * @param resolveName Finds the addresses of a name; none if it is unknown.
 * @param environment The variables by which systemd passes a socket are removed from it.
 * @throws {ListenError} if that is not possible.
 * @throws {UsageError} if systemd passes several sockets.
 */
export async function listen(
  listener: Listener,
  { listen: given, host, port }: ServerOptions,
  environment: NodeJS.ProcessEnv,
  isSecure: boolean,
  resolveName: (name: string) => Promise<readonly string[]> = addressesOf,
): Promise<Reached> {
  const scheme = isSecure ? 'https' : 'http'
  const fd = takeActivatedSocket(environment)
  if (fd !== undefined) return listenOnDescriptor(listener, fd, scheme)
  if (given !== undefined) return listenOnPath(listener, resolve(given))
  const isName = host !== undefined && isIP(host) === 0 && !host.includes('%')
  const addresses = isName ? await resolveName(host) : []
  const bound = await listenOnAll(listener, port, host, addresses)
  return {
    origin: `${scheme}://${urlHost(host)}:${bound[0]?.port}`,
    address: (bound.find(({ address }) => !isLoopback(address)) ?? bound[0])?.address,
    socket: undefined,
  }
}

/** @param addresses Addresses of the host, at one port; those that this machine does not have are left out. */
async function listenOnAll(
  listener: Listener,
  port: number,
  host: string | undefined,
  addresses: readonly string[],
): Promise<readonly { readonly address: string; readonly port: number }[]> {
  const bound: { readonly address: string; readonly port: number }[] = []
  let absent: unknown
  // Node resolves an unknown name again, and says what is wrong.
  for (const address of addresses.length === 0 ? [host] : addresses) {
    try {
      bound.push(await listenOnAddress(listener, bound[0]?.port ?? port, address, bound.length > 0))
    } catch (error) {
      const isAbsent = error instanceof ListenError && ABSENT.has(systemCode(error.cause) ?? '')
      if (!isAbsent) {
        await listener.drain(0)
        throw error
      }
      absent ??= error
    }
  }
  if (bound.length === 0) throw absent
  return bound
}

/** This machine does not have the address, or no IPv6 at all. */
const ABSENT: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT'])

async function listenOnAddress(
  listener: Listener,
  port: number,
  host: string | undefined,
  isFurther: boolean,
): Promise<{ readonly address: string; readonly port: number }> {
  const where = host === undefined ? `port ${port}` : `${urlHost(host)}:${port}`
  const reasons: Reasons = {
    EADDRINUSE: () =>
      `${describePortOwner(port, host)} listens there; stop it, or choose another with --port`,
    EACCES: () => 'this account may not use that port; choose one above 1023 with --port',
    EADDRNOTAVAIL: () => 'this machine has no such address; choose one of its own with --host',
    ENOTFOUND: () => 'no address has that name; choose one of this machine with --host',
  }
  if (host !== undefined && isFurther) {
    await explained(listener.listenAlso({ port, host }), where, reasons)
    return { address: host, port }
  }
  const { address = '', port: given = port } =
    (await tryListen(listener, { port, host }, where, reasons)) ?? {}
  return { address, port: given }
}

async function addressesOf(name: string): Promise<readonly string[]> {
  const found = await lookup(name, { all: true }).catch(() => [])
  return [...new Set(found.map(({ address }) => address))]
}

async function listenOnDescriptor(listener: Listener, fd: number, scheme: string): Promise<Reached> {
  const where = `descriptor ${fd}, which systemd passes`
  const noStream = () => 'it is no socket for streams; see ListenStream= in the unit of the socket'
  const reasons = { EINVAL: noStream, ERR_INVALID_FD_TYPE: noStream }
  const bound = await tryListen(listener, { fd }, where, reasons)
  if (bound !== undefined) {
    const origin = `${scheme}://${urlHost(bound.address)}:${bound.port}`
    return { origin, address: bound.address, socket: undefined }
  }
  if (scheme === 'https') {
    throw new ListenError(
      `Cannot listen on ${where}: it is a Unix socket, where no HTTPS is served; leave out --tls-cert and --tls-key`,
    )
  }
  return { origin: 'http://localhost', address: undefined, socket: findSocketPath(fd) ?? `descriptor ${fd}` }
}

async function listenOnPath(listener: Listener, path: string): Promise<Reached> {
  const where = `socket "${path}"`
  const obstacle = await clearSocketPath(path)
  if (obstacle !== undefined) throw new ListenError(`Cannot listen on ${where}: ${obstacle}`)
  // The umask of this process lets only the owner connect, until the `chmod` below.
  await tryListen(listener, { path }, where, {
    // libuv reports a missing folder as EACCES, too.
    EACCES: () =>
      'its folder is missing, or not for this account to write to; make it, or choose another with --listen',
    EADDRINUSE: () => 'another process has begun to listen there; stop it, or choose another with --listen',
  })
  await chmod(path, SOCKET_MODE)
  return { origin: 'http://localhost', address: undefined, socket: path }
}

/** Why it failed and what to do, by the code of the error. */
type Reasons = Readonly<Record<string, () => string>>

function tryListen(listener: Listener, place: Place, where: string, reasons: Reasons) {
  return explained(listener.listen(place), where, reasons)
}

async function explained<T>(listening: Promise<T>, where: string, reasons: Reasons): Promise<T> {
  try {
    return await listening
  } catch (error) {
    const reason = reasons[systemCode(error) ?? '']?.() ?? String(error)
    throw new ListenError(`Cannot listen on ${where}: ${reason}`, { cause: error })
  }
}

function urlHost(host: string | undefined): string {
  if (host === undefined || host === '::' || host === '0.0.0.0') return 'localhost'
  return isIPv6(host) ? `[${host}]` : host
}

/**
 * Takes the listening socket that systemd passes (sd_listen_fds(3)), and removes its variables, so that no child
 * process takes it, too.
 *
 * @returns Its descriptor; undefined if none is passed to this process.
 * @throws {UsageError} if there is more than one.
 */
export function takeActivatedSocket(environment: NodeJS.ProcessEnv): number | undefined {
  const { LISTEN_PID: pid, LISTEN_FDS: count } = environment
  for (const name of ['LISTEN_PID', 'LISTEN_PIDFDID', 'LISTEN_FDS', 'LISTEN_FDNAMES'])
    delete environment[name]
  if (pid !== String(process.pid) || count === undefined || count === '0') return undefined
  if (count !== '1') {
    throw new UsageError(
      `Cannot listen on the ${count} sockets that systemd passes: one is taken; leave one ListenStream= in the unit of the socket`,
    )
  }
  return FIRST_PASSED
}

/** The path of an open Unix socket; undefined if it has none, or the system is not Linux. */
export function findSocketPath(fd: number): string | undefined {
  try {
    const inode = String(fstatSync(fd).ino)
    const rows = readFileSync('/proc/self/net/unix', 'utf8').split('\n')
    const columns = rows.map((row) => /^(?:\S+ +){6}(\d+) (\/.*)$/.exec(row))
    return columns.find((found) => found?.[1] === inode)?.[2]
  } catch {
    return undefined
  }
}
