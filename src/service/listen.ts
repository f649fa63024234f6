import { chmod } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { resolve } from 'node:path'
import { ConnbookError, systemCode } from '../errors.ts'
import type { Listener, Place } from '../server/listener.ts'
import { findSocketPath, takeActivatedSocket } from './activation.ts'
import type { ServerOptions } from './server-options.ts'
import { describePortOwner } from './socket-owner.ts'
import { clearSocketPath } from './socket-path.ts'

/** Owner and group may connect. */
const SOCKET_MODE = 0o660

export class ListenError extends ConnbookError {
  readonly code = 'cannot_listen'
}

export interface Reached {
  /** Such as `http://localhost:8080`. */
  readonly origin: string
  /** The IP address listened on; undefined for a Unix socket. */
  readonly address: string | undefined
  /** The path of the Unix socket, or `descriptor 3` if its path is unknown; undefined for TCP. */
  readonly socket: string | undefined
}

/**
 * Listens on the socket that systemd passes, else on the Unix socket or the address that the options name.
 *
 * @param environment The variables by which systemd passes a socket are removed from it.
 * @throws {ListenError} if that is not possible.
 * @throws {UsageError} if systemd passes several sockets.
 */
export async function listen(
  listener: Listener,
  { listen: given, host, port }: ServerOptions,
  environment: NodeJS.ProcessEnv,
  isSecure: boolean,
): Promise<Reached> {
  const scheme = isSecure ? 'https' : 'http'
  const fd = takeActivatedSocket(environment)
  if (fd !== undefined) return listenOnDescriptor(listener, fd, scheme)
  if (given !== undefined) return listenOnPath(listener, resolve(given))
  const where = host === undefined ? `port ${port}` : `${urlHost(host)}:${port}`
  const bound = await tryListen(listener, { port, host }, where, {
    EADDRINUSE: () =>
      `${describePortOwner(port, host)} listens there; stop it, or choose another with --port`,
    EACCES: () => 'this account may not use that port; choose one above 1023 with --port',
    EADDRNOTAVAIL: () => 'this machine has no such address; choose one of its own with --host',
    ENOTFOUND: () => 'no address has that name; choose one of this machine with --host',
  })
  return {
    origin: `${scheme}://${urlHost(host)}:${bound?.port}`,
    address: bound?.address,
    socket: undefined,
  }
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

async function tryListen(listener: Listener, place: Place, where: string, reasons: Reasons) {
  try {
    return await listener.listen(place)
  } catch (error) {
    const reason = reasons[systemCode(error) ?? '']?.() ?? String(error)
    throw new ListenError(`Cannot listen on ${where}: ${reason}`, { cause: error })
  }
}

function urlHost(host: string | undefined): string {
  if (host === undefined || host === '::' || host === '0.0.0.0') return 'localhost'
  return isIPv6(host) ? `[${host}]` : host
}
