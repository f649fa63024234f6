import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import {
  type Command,
  type CommandInput,
  defineCommand,
  getFamily,
  parseVerb,
  runCommand,
  verbOf,
  verbsOf,
} from '../../src/command-line/command.ts'
import { OpenedBooks } from '../../src/command-line/opened-books.ts'
import type { Options } from '../../src/command-line/options.ts'
import { UsageError } from '../../src/errors.ts'
import { plainStyle } from '../support/plain-style.ts'

/** The last command run. */
interface Run {
  readonly name: string
  readonly input: CommandInput<keyof Options>
}
let lastRun: Run | undefined

function command(name: string, more: Partial<Command<keyof Options, keyof Options>> = {}): Command {
  return defineCommand<keyof Options, keyof Options>({
    name,
    summary: '',
    examples: [],
    flags: ['data'],
    ...more,
    async run(input) {
      lastRun = { name, input }
    },
  })
}

const commands = [
  command('serve', { flags: ['data', 'port'] }),
  command('user add', { operands: 'NAME', flags: ['data', 'readOnly'] }),
  command('user list'),
  command('check', { operands: '[FILE]' }),
  command('import', { operands: 'FILE', otherOperand: '-', flags: ['data', 'format'], requires: 'format' }),
  command('help', { operands: '[COMMAND]', operandsMax: 2, flags: [], ignoresVariables: true }),
  command('unit', { flags: ['data'], ignoresVariables: true }),
]

const environment = { CONNBOOK_DATA: '/from/environment' }

/** Runs a command line whose first word names the family. */
async function run(word: string, ...args: string[]): Promise<Run> {
  lastRun = undefined
  await runCommand(getFamily(commands, word), args, {
    environment,
    input: Readable.from([]),
    print: async () => {},
    style: plainStyle,
    screen: { write: () => {}, draw: () => {} },
    opened: new OpenedBooks(),
  })
  return lastRun ?? assert.fail('nothing was run')
}

const refusal = (message: string) => (error: unknown) => {
  assert.ok(error instanceof UsageError, String(error))
  assert.equal(error.message, message)
  return true
}

describe('running a command', () => {
  it('passes its options, the flags as given, and its operands', async () => {
    const { name, input } = await run('check', '--data=/d', 'file')
    assert.deepEqual([name, input.operands, input.options.data], ['check', ['file'], '/d'])
    assert.deepEqual([...input.given], [['--data', '/d']])
  })

  it('finds the command of a family by its second word, also after flags, and does not pass this word as an operand', async () => {
    for (const args of [
      ['add', '--read-only', 'eve'],
      ['--read-only', 'add', 'eve'],
      ['add', 'eve', '--read-only'],
    ]) {
      const { name, input } = await run('user', ...args)
      assert.deepEqual([name, input.operands, input.options.readOnly], ['user add', ['eve'], true])
    }
    assert.deepEqual((await run('user', 'list')).input.operands, [])
  })

  it('refuses a flag that only another command of the family takes', async () => {
    await assert.rejects(run('user', 'list', '--read-only'), /^UsageError: Unknown flag "--read-only"/)
  })

  it('reads the variables of the environment, unless the command leaves them alone', async () => {
    assert.equal((await run('check')).input.options.data, '/from/environment')
    assert.equal((await run('unit')).input.options.data, './data')
  })

  const refused: Record<string, [words: readonly string[], message: string]> = {
    'too few operands': [['user', 'add'], 'Write it as: connbook user add NAME'],
    'too many operands': [['user', 'add', 'a', 'b'], 'Write it as: connbook user add NAME'],
    'an operand where none belongs': [['user', 'list', 'x'], 'Write it as: connbook user list'],
    'two operands where there may be one': [
      ['check', 'a', 'b'],
      'Write it as: connbook check, or: connbook check FILE',
    ],
    'more operands than there may be': [
      ['help', 'a', 'b', 'c'],
      'Write it as: connbook help, or: connbook help COMMAND',
    ],
    'no second word': [['user'], 'Unknown command "user"; it takes add, list'],
    'an unknown second word': [['user', 'rename'], 'Unknown command "user rename"; it takes add, list'],
    'a second word with a slip': [['user', 'lits'], 'Unknown command "user lits"; did you mean user list?'],
    'a file with "~" that no shell has replaced': [
      ['check', '~/b'],
      `Cannot use "~/b": no shell has replaced the "~" at its beginning; write "${join(homedir(), 'b')}" for your home folder, or "./~/b" for that very name`,
    ],
    'a word after serve': [['serve', 'now'], 'Unknown command "now"; see connbook help'],
  }
  for (const [what, [[word = '', ...args], message]] of Object.entries(refused)) {
    it(`refuses ${what}`, async () => {
      await assert.rejects(run(word, ...args), refusal(message))
      assert.equal(lastRun, undefined)
    })
  }

  it('refuses to run without a required flag, and lists every way to write it', async () => {
    await assert.rejects(run('import', 'file'), (error: Error) => {
      assert.match(
        error.message,
        /^Write it as: connbook import FILE --format \S+, one of json, jsonl, csv, .*, or: connbook import - --format /,
      )
      return true
    })
    assert.equal((await run('import', 'file', '--format', 'csv')).input.options.format, 'csv')
  })
})

describe('a family of commands', () => {
  it('contains the commands that begin with its word, in the order of the table', () => {
    const family = getFamily(commands, 'user')
    assert.deepEqual(
      family.map(({ name }) => name),
      ['user add', 'user list'],
    )
    assert.deepEqual(verbsOf(family), ['add', 'list'])
    assert.deepEqual(verbsOf(getFamily(commands, 'check')), [])
  })

  it('is refused under an unknown name, and the nearest is suggested', () => {
    const unknown = 'Unknown command "zzz"; see connbook help'
    assert.throws(() => getFamily(commands, 'zzz'), refusal(unknown))
    assert.throws(() => getFamily(commands, 'chekc'), refusal('Unknown command "chekc"; did you mean check?'))
    assert.throws(() => getFamily(commands, 'use'), /did you mean user\?/)
  })

  it('is found by what it is called elsewhere', () => {
    const meant = { list: 'ls', find: 'ls', show: 'get', edit: 'set', delete: 'rm', connect: 'ssh' }
    for (const [word, name] of Object.entries(meant))
      assert.throws(
        () => getFamily(commands, word),
        refusal(`Unknown command "${word}"; did you mean ${name}?`),
      )
  })

  it('gives the second word of a name, if there is one', () => {
    assert.deepEqual(commands.map(verbOf), [
      undefined,
      'add',
      'list',
      ...Array.from({ length: 4 }, () => undefined),
    ])
    assert.equal(parseVerb('user', ['add', 'list'], 'list'), 'list')
  })
})
