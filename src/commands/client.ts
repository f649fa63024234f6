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

export const clientCommands: readonly Command[] = [
  defineCommand({
    name: 'client add',
    operands: 'ID',
    summary: 'add a client for scripts; shows its secret once',
    examples: [
      ['connbook client add deploy', 'shows client_id and client_secret'],
      ['connbook client add --read-only probe', 'can read, but not change records'],
    ],
    notes: [CHANGES_CLUSTER],
    flags: [...placeFlags, 'readOnly', 'ifMissing', 'secretStdin'],
    exitCodes: { 4: EXISTS, ...clusterExitCodes },
    run: (input, context) => addNamed('client', input, context),
  }),
  defineCommand({
    name: 'client rotate',
    operands: 'ID',
    summary: 'give a client a new secret; ends its tokens',
    examples: [['connbook client rotate deploy', 'shows the new client_secret']],
    notes: [CHANGES_CLUSTER],
    flags: [...placeFlags, 'secretStdin'],
    exitCodes: { 3: UNKNOWN, ...clusterExitCodes },
    run: (input, context) => replaceSecret('client', input, context),
  }),
  defineCommand({
    name: 'client set',
    operands: 'ID',
    summary: 'change what a client may do; its tokens go on',
    examples: [
      ['connbook client set probe --read-only', 'at once, also in a running server'],
      ['connbook client set probe --read-write', 'for new tokens'],
    ],
    notes: [CHANGES_CLUSTER],
    flags: [...placeFlags, 'readOnly', 'readWrite'],
    exitCodes: { 3: UNKNOWN, ...clusterExitCodes },
    run: (input, context) => setScope('client', input, context),
  }),
  defineCommand({
    name: 'client remove',
    operands: 'ID',
    summary: 'remove a client; ends its tokens',
    examples: [['connbook client remove deploy', 'at once, also in a running server']],
    notes: [CHANGES_CLUSTER],
    flags: [...placeFlags, 'ifPresent'],
    exitCodes: { 3: UNKNOWN, ...clusterExitCodes },
    run: (input, context) => removeNamed('client', input, context),
  }),
  defineCommand({
    name: 'client list',
    summary: 'list the clients, and which are read-only',
    examples: [
      ['connbook client list', 'a table on a terminal'],
      ['connbook client list | cut -f 1', 'only the ids'],
    ],
    flags: placeFlags,
    exitCodes: clusterExitCodes,
    run: (input, context) => listNames('client', input, context),
  }),
]
