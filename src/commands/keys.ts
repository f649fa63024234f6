import type { Client } from '../client/client.ts'
import { OtherAnswerError } from '../client/refused.ts'
import { alignColumns, linesOf } from '../command-line/columns.ts'
import {
  type Command,
  type CommandContext,
  type CommandInput,
  defineCommand,
} from '../command-line/command.ts'
import { folderExitCodes } from '../command-line/exit-codes.ts'
import { shown } from '../command-line/output.ts'
import { isObject } from '../json.ts'
import { withOutcome } from './remote/changes.ts'
import { connect, folderFlags } from './remote/connect.ts'

export const keysCommands: readonly Command[] = [
  defineCommand({
    name: 'keys rotate',
    summary: 'sign with a new key; sessions and tokens stay valid',
    examples: [['connbook keys rotate', 'accepts the old key until its last token ends']],
    flags: folderFlags,
    exitCodes: folderExitCodes,
    async run(input, context) {
      const client = await connectToFolder('rotate', input, context)
      const { key, superseded } = await ask(client, 'POST', '/rotate')
      await show(
        [
          `Rotated the keys ${client.endpoint.where}`,
          `Key ${keyIn(client, key).id} signs from now on`,
          `Key ${keyIn(client, superseded).id} verifies until ${keyIn(client, superseded).until}, when all that it signed has expired`,
        ],
        'show what was done',
        context,
      )
    },
  }),
  defineCommand({
    name: 'keys revoke-all',
    summary: 'end every session and token at once',
    examples: [['connbook keys revoke-all', 'after a leak']],
    flags: folderFlags,
    exitCodes: folderExitCodes,
    async run(input, context) {
      const client = await connectToFolder('revoke-all', input, context)
      const { key } = await ask(client, 'POST', '/revoke-all')
      await show(
        [
          `Replaced the keys ${client.endpoint.where}`,
          `Key ${keyIn(client, key).id} is the only one from now on`,
          'Every session and token has ended',
        ],
        'show what was done',
        context,
      )
    },
  }),
  defineCommand({
    name: 'keys list',
    summary: 'list the keys, and until when each is accepted',
    examples: [['connbook keys list', 'never shows their secrets']],
    flags: folderFlags,
    exitCodes: folderExitCodes,
    async run(input, context) {
      const client = await connectToFolder('list', input, context)
      const { keys } = await ask(client, 'GET', '')
      if (!Array.isArray(keys)) throw notKeys(client)
      const listed = keys.map((key) => keyIn(client, key))
      const { style } = context
      const lines = style.isTerminal
        ? alignColumns(
            ['KEY', 'SINCE', 'STATE'],
            listed.map((key) => [key.id, key.created ?? 'unknown', stateOf(key)]),
            style,
          )
        : listed.map((key) => `${key.id}  ${sinceOf(key)}  ${stateOf(key)}`)
      await show(lines, 'show the keys', context)
    },
  }),
]

/** A key as it is shown: without its secret. */
interface ShownKey {
  readonly id: string
  readonly created: string | undefined
  readonly until: string | undefined
  readonly signs: boolean
}

/** @param verb The second word of the command. */
function connectToFolder(
  verb: string,
  { options, given }: CommandInput<(typeof folderFlags)[number]>,
  context: CommandContext,
): Promise<Client> {
  return connect({ options, given }, context, `keys ${verb}`, { isFolderOnly: true })
}

async function ask(client: Client, method: 'GET' | 'POST', action: string): Promise<Record<string, unknown>> {
  const asked = client.askJson({ method, path: `/v1/keys${action}` })
  const answer = await (method === 'GET' ? asked : withOutcome(asked))
  if (isObject(answer)) return answer
  throw notKeys(client)
}

function keyIn(client: Client, input: unknown): ShownKey {
  if (!isObject(input) || typeof input.id !== 'string') throw notKeys(client)
  const { id, created, until, signs } = input
  return {
    id,
    created: typeof created === 'string' ? created : undefined,
    until: typeof until === 'string' ? until : undefined,
    signs: signs === true,
  }
}

function notKeys({ endpoint }: Client): OtherAnswerError {
  return new OtherAnswerError(`${endpoint.name} answers no keys; is its server as new as this connbook?`)
}

function sinceOf({ created }: ShownKey): string {
  return created === undefined ? 'made by an earlier version' : `since ${created}`
}

function stateOf({ signs, until }: ShownKey): string {
  if (signs) return 'signs'
  return until === undefined ? 'verifies' : `verifies until ${until}`
}

async function show(lines: readonly string[], what: string, { print }: CommandContext): Promise<void> {
  await shown(print(linesOf(lines)), what)
}
