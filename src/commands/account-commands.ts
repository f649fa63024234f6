import type { AccountKind } from '../auth/accounts.ts'
import {
  type Command,
  type CommandContext,
  type CommandInput,
  defineCommand,
  EXISTS,
  UNKNOWN,
} from '../command-line/command.ts'
import { bookExitCodes } from '../command-line/exit-codes.ts'
import type { Options } from '../command-line/options.ts'
import { addFlags, kindWords, type NamedAccount, setFlags } from './account-words.ts'
import { addNamed, listNames, removeNamed, replaceSecret, setRights } from './remote/accounts.ts'
import { clientFlags } from './remote/connect.ts'

const CALLS_BOOK =
  'It works on the book that every command means, in a folder with the server running or not; at a server elsewhere, in the name of an admin. See connbook help commands.'

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
        ['connbook user set eve --read-only', 'counts for the next request'],
        ['connbook user set eve --read-write', ''],
        ['connbook user set eve --admin', 'can also manage accounts, over HTTP'],
        ['connbook user set max --no-grants', 'sees all records again'],
      ],
    },
    remove: {
      summary: "remove a user; ends the user's sessions",
      examples: [['connbook user remove eve', 'counts for the next request']],
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
        ['connbook client set probe --read-only', 'counts for the next request'],
        ['connbook client set probe --read-write', 'for new tokens'],
      ],
    },
    remove: {
      summary: 'remove a client; ends its tokens',
      examples: [['connbook client remove deploy', 'counts for the next request']],
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
  const flags = clientFlags
  const notes = [CALLS_BOOK]
  const named = { operands, notes, exitCodes: { 3: UNKNOWN, ...bookExitCodes } } as const
  return [
    defineCommand({
      name: `${kind} add`,
      operands,
      ...texts.add,
      notes,
      flags: [...flags, ...addFlags, ...secretFlags],
      exitCodes: { 4: EXISTS, ...bookExitCodes },
      run: forAccount(kind, addNamed),
    }),
    defineCommand({
      name: `${kind} ${replace}`,
      ...named,
      ...texts.replace,
      flags: [...flags, ...secretFlags],
      run: forAccount(kind, replaceSecret),
    }),
    defineCommand({
      name: `${kind} set`,
      ...named,
      ...texts.set,
      flags: [...flags, ...setFlags],
      run: forAccount(kind, setRights),
    }),
    defineCommand({
      name: `${kind} remove`,
      ...named,
      ...texts.remove,
      flags: [...flags, 'ifPresent'],
      run: forAccount(kind, removeNamed),
    }),
    defineCommand({
      name: `${kind} list`,
      ...texts.list,
      notes,
      flags,
      exitCodes: { ...bookExitCodes },
      run: forAccount(kind, listNames),
    }),
  ]
}

type AccountInput<Flag extends keyof Options> = CommandInput<(typeof clientFlags)[number] | Flag>

function forAccount<Flag extends keyof Options>(
  kind: AccountKind,
  run: (account: NamedAccount, input: AccountInput<Flag>, context: CommandContext) => Promise<void>,
) {
  return (input: AccountInput<Flag>, context: CommandContext) =>
    run({ kind, name: input.operands[0] ?? '' }, input, context)
}
