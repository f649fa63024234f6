import type { AccountKind } from '../auth/accounts.ts'
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

type Texts = Pick<Command, 'summary' | 'examples'>

interface AccountTexts {
  /** What stands for the name of an account. */
  readonly operands: 'NAME' | 'ID'
  /** The second word of the command that replaces the secret. */
  readonly replace: 'passwd' | 'rotate'
  /** Flags that say where a new secret comes from. */
  readonly secretFlags: readonly ['secretStdin'] | readonly []
  readonly texts: Readonly<Record<'add' | 'replace' | 'set' | 'remove' | 'list', Texts>>
}

export const userCommands = accountCommands('user', {
  operands: 'NAME',
  replace: 'passwd',
  // A password is always typed, or read from a pipe.
  secretFlags: [],
  texts: {
    add: {
      summary: 'add a user; asks for the password, or reads it from a pipe',
      examples: [
        ['connbook user add eve', 'asks for the password, twice'],
        ['connbook user add eve < password.txt', 'reads it from a file'],
        ['connbook user add --read-only night', 'can read, but not change records'],
      ],
    },
    replace: {
      summary: "change a password; ends the user's sessions",
      examples: [
        ['connbook user passwd eve', 'asks for the new one, twice'],
        ['connbook user passwd eve < password.txt', 'reads it from a file'],
      ],
    },
    set: {
      summary: 'change what a user may do; sessions go on',
      examples: [
        ['connbook user set eve --read-only', 'at once, also in a running server'],
        ['connbook user set eve --read-write', ''],
        ['connbook user set eve --admin', 'can also manage accounts, over HTTP'],
      ],
    },
    remove: {
      summary: "remove a user; ends the user's sessions",
      examples: [['connbook user remove eve', 'at once, also in a running server']],
    },
    list: {
      summary: 'list the users, and which are read-only or admins',
      examples: [
        ['connbook user list', 'a table on a terminal'],
        ['connbook user list | cut -f 1', 'only the names'],
      ],
    },
  },
})

export const clientCommands = accountCommands('client', {
  operands: 'ID',
  replace: 'rotate',
  secretFlags: ['secretStdin'],
  texts: {
    add: {
      summary: 'add a client for scripts; shows its secret once',
      examples: [
        ['connbook client add deploy', 'shows client_id and client_secret'],
        ['connbook client add --read-only probe', 'can read, but not change records'],
      ],
    },
    replace: {
      summary: 'give a client a new secret; ends its tokens',
      examples: [['connbook client rotate deploy', 'shows the new client_secret']],
    },
    set: {
      summary: 'change what a client may do; its tokens go on',
      examples: [
        ['connbook client set probe --read-only', 'at once, also in a running server'],
        ['connbook client set probe --read-write', 'for new tokens'],
      ],
    },
    remove: {
      summary: 'remove a client; ends its tokens',
      examples: [['connbook client remove deploy', 'at once, also in a running server']],
    },
    list: {
      summary: 'list the clients, and which are read-only or admins',
      examples: [
        ['connbook client list', 'a table on a terminal'],
        ['connbook client list | cut -f 1', 'only the ids'],
      ],
    },
  },
})

function accountCommands(
  kind: AccountKind,
  { operands, replace, secretFlags, texts }: AccountTexts,
): readonly Command[] {
  const notes = [CHANGES_CLUSTER]
  const named = { operands, notes, exitCodes: { 3: UNKNOWN, ...clusterExitCodes } } as const
  return [
    defineCommand({
      name: `${kind} add`,
      operands,
      ...texts.add,
      notes,
      flags: [...placeFlags, 'readOnly', 'admin', 'ifMissing', ...secretFlags],
      exitCodes: { 4: EXISTS, ...clusterExitCodes },
      run: (input, context) => addNamed(kind, input, context),
    }),
    defineCommand({
      name: `${kind} ${replace}`,
      ...named,
      ...texts.replace,
      flags: [...placeFlags, ...secretFlags],
      run: (input, context) => replaceSecret(kind, input, context),
    }),
    defineCommand({
      name: `${kind} set`,
      ...named,
      ...texts.set,
      flags: [...placeFlags, 'readOnly', 'readWrite', 'admin'],
      run: (input, context) => setScope(kind, input, context),
    }),
    defineCommand({
      name: `${kind} remove`,
      ...named,
      ...texts.remove,
      flags: [...placeFlags, 'ifPresent'],
      run: (input, context) => removeNamed(kind, input, context),
    }),
    defineCommand({
      name: `${kind} list`,
      ...texts.list,
      flags: placeFlags,
      exitCodes: clusterExitCodes,
      run: (input, context) => listNames(kind, input, context),
    }),
  ]
}
