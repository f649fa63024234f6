import { listPath } from '../../client/endpoint.ts'
import { askForRecord } from '../../client/served-record.ts'
import { type CommandContext, defineCommand } from '../../command-line/command.ts'
import { clientExitCodes } from '../../command-line/exit-codes.ts'
import { UsageError } from '../../errors.ts'
import { bodyOf, JSON_BODY, makeChange, quoted } from './changes.ts'
import { clientFlags, connect } from './connect.ts'
import { callersAccount, type Destination, parseDestination } from './destination.ts'
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
  server: 'running',
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
    const client = await connect(input, context, 'add')
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
