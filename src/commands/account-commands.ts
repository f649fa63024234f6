import type { AccountKind } from '../auth/accounts.ts'
import {
  type Command,
  type CommandContext,
  type CommandInput,
  defineCommand,
  EXISTS,
  IN_USE,
  UNKNOWN,
} from '../command-line/command.ts'
import { elsewhereExitCodes } from '../command-line/exit-codes.ts'
import { type Options, placeFlags } from '../command-line/options.ts'
import { UsageError } from '../errors.ts'
import { addFlags, kindWords, type NamedAccount, setFlags } from './account-words.ts'
import { addNamed, listNames, removeNamed, replaceSecret, setRights } from './accounts.ts'
import { checkChosenFolder } from './chosen-folder.ts'
import { addAt, listAt, removeAt, replaceSecretAt, setRightsAt } from './remote/accounts.ts'
import { CHANGES_CLUSTER } from './used-cluster.ts'

/** How to call the server of `--server`. */
const serverFlags = ['server', 'authority', 'plain', 'noRetry'] as const

const CALLS_SERVER =
  'With --server it calls that server in the name of an admin: by the login that connbook login has kept, a token or a client. Without --server it calls none.'

type Texts = Pick<Command, 'summary' | 'examples'>

interface AccountTexts {
  /** Flags that say where a new secret comes from. */
  readonly secretFlags: readonly ['secretStdin'] | readonly []
  readonly texts: Readonly<Record<'add' | 'replace' | 'set' | 'remove' | 'list', Texts>>
}

export const userCommands = accountCommands('user', {
  // A password is always typed, or read from a pipe.
  secretFlags: [],
  texts: {
    add: {
      summary: 'add a user; asks for the password, or reads it from a pipe',
      examples: [
        ['connbook user add eve', 'asks for the password, twice'],
        ['connbook user add eve < password.txt', 'reads it from a file'],
        ['connbook user add --read-only night', 'can read, but changes nothing'],
        ["connbook user add max --grant 'read?prefix=a'", 'sees only these records'],
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
        ['connbook user set max --no-grants', 'sees all records again'],
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

function accountCommands(kind: AccountKind, { secretFlags, texts }: AccountTexts): readonly Command[] {
  const { operand: operands, replace } = kindWords[kind]
  const flags = [...placeFlags, ...serverFlags] as const
  const notes = [CHANGES_CLUSTER, CALLS_SERVER]
  const named = { operands, notes, exitCodes: { 3: UNKNOWN, ...elsewhereExitCodes, 75: IN_USE } } as const
  return [
    defineCommand({
      name: `${kind} add`,
      operands,
      ...texts.add,
      notes,
      flags: [...flags, ...addFlags, ...secretFlags],
      exitCodes: { 4: EXISTS, ...elsewhereExitCodes, 75: IN_USE },
      run: eitherWay(kind, addNamed, addAt),
    }),
    defineCommand({
      name: `${kind} ${replace}`,
      ...named,
      ...texts.replace,
      flags: [...flags, ...secretFlags],
      run: eitherWay(kind, replaceSecret, replaceSecretAt),
    }),
    defineCommand({
      name: `${kind} set`,
      ...named,
      ...texts.set,
      flags: [...flags, ...setFlags],
      run: eitherWay(kind, setRights, setRightsAt),
    }),
    defineCommand({
      name: `${kind} remove`,
      ...named,
      ...texts.remove,
      flags: [...flags, 'ifPresent'],
      run: eitherWay(kind, removeNamed, removeAt),
    }),
    defineCommand({
      name: `${kind} list`,
      ...texts.list,
      notes: [CALLS_SERVER],
      flags,
      exitCodes: { ...elsewhereExitCodes, 75: IN_USE },
      run: eitherWay(kind, listNames, listAt),
    }),
  ]
}

/**
 * Runs a command where `--server` says, or on the folder or cluster. A server that a variable or a kept login names does
 * not count: a script that manages a folder must not change another book.
 */
function eitherWay<Flag extends keyof Options>(
  kind: AccountKind,
  here: (account: NamedAccount, input: CommandInput<Flag>, context: CommandContext) => Promise<void>,
  atServer: (
    account: NamedAccount,
    input: CommandInput<Flag | (typeof serverFlags)[number] | 'data'>,
    context: CommandContext,
  ) => Promise<void>,
) {
  return async (
    input: CommandInput<Flag | (typeof serverFlags)[number] | 'data'>,
    context: CommandContext,
  ) => {
    const { given, operands } = input
    const account = { kind, name: operands[0] ?? '' }
    if (!given.has('--server')) {
      const only = ['--ca', '--plain', '--no-retry'].find((flag) => given.has(flag))
      if (only !== undefined) throw new UsageError(`${only} goes with --server; add that, or leave it out`)
      await checkChosenFolder(input, context, true)
      return here(account, input, context)
    }
    const other = ['--data', '--etcd'].find((flag) => given.has(flag))
    if (other !== undefined) throw new UsageError(`Give --server or ${other}, not both`)
    return atServer(account, input, context)
  }
}
