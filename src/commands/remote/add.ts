import { listPath } from '../../client/endpoint.ts'
import { askForRecord } from '../../client/served-record.ts'
import { type CommandContext, defineCommand } from '../../command-line/command.ts'
import { clientExitCodes } from '../../command-line/exit-codes.ts'
import { UsageError } from '../../errors.ts'
import { PORT_MAX, PORT_MIN } from '../../limits.ts'
import { sudoUserOf, systemAccount } from '../../system-account.ts'
import { bodyOf, JSON_BODY, makeChange, quoted } from './changes.ts'
import { clientFlags, connect } from './connect.ts'
import { fieldFlags, type GivenFields, givenFields } from './record-fields.ts'

const SSH_PORT = 22

export const addCommand = defineCommand({
  name: 'add',
  operands: 'NAME [TARGET]',
  operandsMax: 2,
  summary: 'add a record',
  examples: [
    ['connbook add web1 deploy@192.0.2.10:2222 --label env=prod', ''],
    ["connbook add web1 'deploy@[2001:db8::1]'", ''],
    ['connbook add web1 --hostname 192.0.2.10 --port 22 --username deploy', ''],
    ['connbook add db1 --hostname db1 --port 5432 --username app --label env=prod', ''],
  ],
  notes: [
    'TARGET is USER@HOST:PORT, read as ssh reads a hop. Without a port it is 22, and without a user your own account.',
  ],
  flags: [...clientFlags, ...fieldFlags, 'reason'],
  exitCodes: { ...clientExitCodes, 4: 'the name is taken; nothing has changed' },
  async run(input, context) {
    const {
      options,
      operands: [name = '', destination],
    } = input
    const given = givenFields(options)
    const placed = destination === undefined ? {} : placeOf(parseDestination(destination), given, context)
    const body = bodyOf({ name, ...given, ...placed })
    const client = await connect(input, context, 'add', { isMadeIfMissing: true })
    const call = askForRecord(client, { method: 'POST', path: listPath(), headers: JSON_BODY, body })
    const typed = destination === undefined ? { name: 'NAME' } : typedNames
    await makeChange(client, context.screen, call, ({ record }) => `Added ${quoted(record.name)}`, typed)
  },
})

/** How error messages name what stands in `NAME USER@HOST:PORT`. */
const typedNames = { name: 'NAME', hostname: 'HOST', port: 'PORT', username: 'USER' }

/**
 * The fields of a destination; what it leaves out is as for ssh, which is said.
 *
 * @throws {UsageError} if flags say the same thing, or the account of the caller has no name.
 */
function placeOf(
  destination: Destination,
  { hostname, port, username }: GivenFields,
  { environment, screen }: CommandContext,
): object {
  for (const [flag, value, isSaid] of [
    ['--hostname', hostname, true],
    ['--port', port, destination.port !== undefined],
    ['--username', username, destination.username !== undefined],
  ] as const)
    if (value !== undefined && isSaid)
      throw new UsageError(`USER@HOST:PORT says it already: leave out ${flag}`)
  const own =
    destination.username ?? (username === undefined ? callersAccount(environment) : String(username))
  if (own === undefined) throw new UsageError('Give USER@HOST: this account has no name')
  const usual = [
    ...(destination.port === undefined && port === undefined ? [`port ${SSH_PORT}`] : []),
    ...(destination.username === undefined && username === undefined ? [`user ${quoted(own)}`] : []),
  ]
  if (usual.length > 0) screen.write(`connbook: Not given, so taken: ${usual.join(', ')}\n`)
  return { hostname: destination.hostname, port: destination.port ?? port ?? SSH_PORT, username: own }
}

/** Where a connection goes, as `USER@HOST:PORT` says it. */
interface Destination {
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
