import {
  CHANGES_CLUSTER,
  type Command,
  clusterExitCodes,
  defineCommand,
  EXISTS,
  UNKNOWN,
} from '../command-line/command.ts'
import { placeFlags } from '../command-line/options.ts'
import { addNamed, listNames, removeNamed, replaceSecret, setScope } from './accounts.ts'

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
    notes: [CHANGES_CLUSTER],
    flags: [...placeFlags, 'readOnly', 'ifMissing'],
    exitCodes: { 4: EXISTS, ...clusterExitCodes },
    run: ({ options, ...others }, context) =>
      addNamed('user', { ...others, options: { ...options, secretStdin: false } }, context),
  }),
  defineCommand({
    name: 'user passwd',
    operands: 'NAME',
    summary: "change a password; ends the user's sessions",
    examples: [
      ['connbook user passwd eve', 'asks for the new one, twice'],
      ['connbook user passwd eve < password.txt', 'reads it from a file'],
    ],
    notes: [CHANGES_CLUSTER],
    flags: placeFlags,
    exitCodes: { 3: UNKNOWN, ...clusterExitCodes },
    run: ({ options, ...others }, context) =>
      replaceSecret('user', { ...others, options: { ...options, secretStdin: false } }, context),
  }),
  defineCommand({
    name: 'user set',
    operands: 'NAME',
    summary: 'change what a user may do; sessions go on',
    examples: [
      ['connbook user set eve --read-only', 'at once, also in a running server'],
      ['connbook user set eve --read-write', ''],
    ],
    notes: [CHANGES_CLUSTER],
    flags: [...placeFlags, 'readOnly', 'readWrite'],
    exitCodes: { 3: UNKNOWN, ...clusterExitCodes },
    run: (input, context) => setScope('user', input, context),
  }),
  defineCommand({
    name: 'user remove',
    operands: 'NAME',
    summary: "remove a user; ends the user's sessions",
    examples: [['connbook user remove eve', 'at once, also in a running server']],
    notes: [CHANGES_CLUSTER],
    flags: [...placeFlags, 'ifPresent'],
    exitCodes: { 3: UNKNOWN, ...clusterExitCodes },
    run: (input, context) => removeNamed('user', input, context),
  }),
  defineCommand({
    name: 'user list',
    summary: 'list the users, and which are read-only',
    examples: [
      ['connbook user list', 'a table on a terminal'],
      ['connbook user list | cut -f 1', 'only the names'],
    ],
    flags: placeFlags,
    exitCodes: clusterExitCodes,
    run: (input, context) => listNames('user', input, context),
  }),
]
