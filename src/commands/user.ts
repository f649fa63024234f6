import { type Command, defineCommand } from '../command-line/command.ts'
import { addToFolder, listFolder, removeFromFolder, replaceSecret } from './accounts.ts'

export const userCommands: readonly Command[] = [
  defineCommand({
    name: 'user add',
    operands: 'NAME',
    summary: 'add a user; asks for the password, or reads it from a pipe',
    examples: [
      ['connbook user add eve', 'asks for the password, twice'],
      ['connbook user add eve < password.txt', 'reads it from a file'],
      ['connbook user add --read-only night', 'can read, but not change records'],
    ],
    flags: ['data', 'readOnly'],
    run: (input, context) => addToFolder('user', input, context),
  }),
  defineCommand({
    name: 'user passwd',
    operands: 'NAME',
    summary: "change a password; ends the user's sessions",
    examples: [
      ['connbook user passwd eve', 'asks for the new one, twice'],
      ['connbook user passwd eve < password.txt', 'reads it from a file'],
    ],
    flags: ['data'],
    run: (input, context) => replaceSecret('user', input, context),
  }),
  defineCommand({
    name: 'user remove',
    operands: 'NAME',
    summary: "remove a user; ends the user's sessions",
    examples: [['connbook user remove eve', 'at once, also in a running server']],
    flags: ['data'],
    run: (input, context) => removeFromFolder('user', input, context),
  }),
  defineCommand({
    name: 'user list',
    summary: 'list the users, and which are read-only',
    examples: [
      ['connbook user list', 'a table on a terminal'],
      ['connbook user list | cut -f 1', 'only the names'],
    ],
    flags: ['data'],
    run: (input, context) => listFolder('user', input, context),
  }),
]
