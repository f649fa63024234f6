import { type Command, defineCommand } from '../command-line/command.ts'
import { addToFolder, listFolder, removeFromFolder, replaceSecret } from './accounts.ts'

export const userCommands: readonly Command[] = [
  defineCommand({
    name: 'user add',
    operands: 'NAME',
    summary: 'add a user; asks for the password, or reads it',
    examples: [
      ['connbook user add eve', 'asks for the password, twice'],
      ['connbook user add eve < password.txt', 'reads it'],
      ['connbook user add --read-only night', 'who may change nothing'],
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
      ['connbook user passwd eve < password.txt', 'reads it'],
    ],
    flags: ['data'],
    run: (input, context) => replaceSecret('user', input, context),
  }),
  defineCommand({
    name: 'user remove',
    operands: 'NAME',
    summary: 'remove a user; ends the sessions',
    examples: [['connbook user remove eve', 'at once, also in a running server']],
    flags: ['data'],
    run: (input, context) => removeFromFolder('user', input, context),
  }),
  defineCommand({
    name: 'user list',
    summary: 'list the users, and who may only read',
    examples: [
      ['connbook user list', 'a table on a terminal'],
      ['connbook user list | cut -f 1', 'the names alone'],
    ],
    flags: ['data'],
    run: (input, context) => listFolder('user', input, context),
  }),
]
