import { UsageError } from '../../errors.ts'
import { PORT_MAX, PORT_MIN } from '../../limits.ts'
import { sudoUserOf, systemAccount } from '../../system-account.ts'

/** Where a connection goes, as `USER@HOST:PORT` says it. */
export interface Destination {
  readonly hostname: string
  /** Undefined if it was left out. */
  readonly port: number | undefined
  readonly username: string | undefined
}

/**
 * Reads `[USER@]HOST[:PORT]` as ssh reads a hop: the last `@` ends the user, and brackets stand around an IPv6 address.
 *
 * @throws {UsageError}
 */
export function parseDestination(text: string): Destination {
  const refused = (why: string) =>
    new UsageError(`Cannot read ${JSON.stringify(text)} as USER@HOST:PORT: ${why}`)
  if (/^[a-z]+:\/\//i.test(text)) throw refused('leave out what is before USER')
  const at = text.lastIndexOf('@')
  const username = at === -1 ? undefined : text.slice(0, at)
  if (username === '') throw refused('there is no user before "@"')
  const place = text.slice(at + 1)
  const isBracketed = place.startsWith('[')
  const parts = isBracketed ? /^\[([^\]]*)\](?::(.*))?$/s.exec(place) : /^([^:]*)(?::([^:]*))?$/.exec(place)
  if (parts === null)
    throw refused(
      isBracketed
        ? 'behind an address in brackets only :PORT may follow'
        : 'write an IPv6 address in brackets, as in [::1]:22',
    )
  const [, hostname = '', port] = parts
  if (hostname === '') throw refused('there is no host')
  return { hostname, username, port: port === undefined ? undefined : parsePort(port, refused) }
}

function parsePort(text: string, refused: (why: string) => UsageError): number {
  const port = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (port < PORT_MIN || port > PORT_MAX)
    throw refused(`the port must be a number from ${PORT_MIN} to ${PORT_MAX}`)
  return port
}

/**
 * The name of the account that runs this; under `sudo`, that of its caller.
 *
 * @returns Undefined if the system has no name for it.
 */
export function callersAccount(environment: NodeJS.ProcessEnv): string | undefined {
  const caller = sudoUserOf(environment.SUDO_USER)
  if (caller !== undefined) return caller
  const account = systemAccount()
  return account.startsWith('uid ') ? undefined : account
}
