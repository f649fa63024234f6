import { type Command, defineCommand } from '../command-line/command.ts'
import { addToFolder, listFolder, removeFromFolder, replaceSecret } from './accounts.ts'

export const clientCommands: readonly Command[] = [
  defineCommand({
    name: 'client add',
    operands: 'ID',
    summary: 'add a client for scripts; shows its secret once',
    examples: [
      ['connbook client add deploy', 'shows client_id and client_secret'],
      ['connbook client add --read-only probe', 'can read, but not change records'],
    ],
    flags: ['data', 'readOnly'],
    run: (input, context) => addToFolder('client', input, context),
  }),
  defineCommand({
    name: 'client rotate',
    operands: 'ID',
    summary: 'give a client a new secret; ends its tokens',
    examples: [['connbook client rotate deploy', 'shows the new client_secret']],
    flags: ['data'],
    run: (input, context) => replaceSecret('client', input, context),
  }),
  defineCommand({
    name: 'client remove',
    operands: 'ID',
    summary: 'remove a client; ends its tokens',
    examples: [['connbook client remove deploy', 'at once, also in a running server']],
    flags: ['data'],
    run: (input, context) => removeFromFolder('client', input, context),
  }),
  defineCommand({
    name: 'client list',
    summary: 'list the clients, and which are read-only',
    examples: [
      ['connbook client list', 'a table on a terminal'],
      ['connbook client list | cut -f 1', 'only the ids'],
    ],
    flags: ['data'],
    run: (input, context) => listFolder('client', input, context),
  }),
]
