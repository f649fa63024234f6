import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import type { CommandContext } from '../../src/command-line/command.ts'
import { OpenedBooks } from '../../src/command-line/opened-books.ts'
import { DamageFoundError } from '../../src/commands/check.ts'
import { runProgram } from '../../src/commands/program.ts'
import {
  DamagedFileError,
  FolderInUseError,
  FolderRefusedError,
  InvalidInputError,
  UsageError,
} from '../../src/errors.ts'
import { versionLine } from '../../src/version.ts'
import { systemError } from '../support/failing-files.ts'
import { plainStyle } from '../support/plain-style.ts'

/** Runs a command line with these variables. */
async function run(words: readonly string[], environment: () => NodeJS.ProcessEnv = () => ({})) {
  const told = { code: Number.NaN, stdout: '', stderr: '' }
  const context: CommandContext = {
    get environment() {
      return environment()
    },
    input: Readable.from([]),
    print: async (text) => {
      told.stdout += text
    },
    style: plainStyle,
    screen: { write: (text) => (told.stderr += text), draw() {} },
    opened: new OpenedBooks(),
  }
  told.code = await runProgram(words, context)
  return told
}

/** What the program does with an error thrown by a command. */
function fail(error: unknown) {
  return run(['check'], () => {
    throw error
  })
}

describe('the program', () => {
  it('prints its version, and refuses any argument after --version', async () => {
    assert.deepEqual(await run(['--version']), { code: 0, stdout: versionLine(), stderr: '' })
    const refused = await run(['--version', 'now'])
    assert.deepEqual([refused.code, refused.stderr], [2, 'connbook: Write it as: connbook --version\n'])
  })

  it('escapes what would control a terminal in the words of an error', async () => {
    for (const [words, said] of [
      [['ls', '--limit', '\u001b[31m'], 'Cannot use --limit "\\u001b[31m": it must be a number from 1 on'],
      [['\u0007'], 'Unknown command "\\u0007"; see connbook help'],
    ] as const) {
      const { code, stderr } = await run(words)
      assert.deepEqual([code, stderr], [2, `connbook: ${said}\n`])
    }
  })

  it('prints help for a word in any position, but not after --', async () => {
    const help = await run(['help', 'user', 'add'])
    assert.equal(help.code, 0)
    for (const words of [
      ['user', 'add', '--help'],
      ['-h', 'user', 'add'],
      ['user', '--help', 'add', '--', '--help'],
    ])
      assert.deepEqual(await run(words), help)
    assert.equal((await run(['check', '--', '--help'])).stdout, '')
  })

  it('serves when the first word is a flag, so a flag that serve does not take is unknown', async () => {
    const { code, stderr } = await run(['--skip'])
    assert.deepEqual([code, stderr], [2, 'connbook: Unknown flag "--skip"; see connbook help\n'])
  })

  const exits: Record<string, [error: unknown, code: number]> = {
    'wrong usage': [new UsageError('Wrong'), 2],
    'wrong input': [new InvalidInputError('Wrong'), 2],
    'a damaged file': [new DamagedFileError('/d/keys.json', 0, 'it was cut', 'do this'), 65],
    'damage that was reported': [new DamageFoundError('Damaged'), 65],
    'a folder in use': [new FolderInUseError('In use'), 75],
    'any other expected error': [new FolderRefusedError('Refused'), 1],
  }
  for (const [what, [error, code]] of Object.entries(exits)) {
    it(`ends with ${code} for ${what}, in one line`, async () => {
      const { message } = error as Error
      assert.deepEqual(await fail(error), { code, stdout: '', stderr: `connbook: ${message}\n` })
    })
  }

  it('reports a system error of a disk or a file in one line', async () => {
    const { code, stderr } = await fail(systemError('EIO'))
    assert.deepEqual(
      [code, stderr],
      [
        1,
        'connbook: Cannot go on: the disk failed (EIO); see what the system says about the disk (dmesg), and try again when it works\n',
      ],
    )
  })

  it('says what to do when access to a path is denied', async () => {
    const { code, stderr } = await fail(systemError('EACCES', import.meta.filename))
    assert.equal(code, 1)
    assert.match(stderr, /this account has no permission \(EACCES\)/)
  })

  it('shows the place of an internal fault', async () => {
    for (const error of [new TypeError('no function'), systemError('ERR_INVALID_ARG_TYPE')]) {
      const { code, stderr } = await fail(error)
      assert.deepEqual([code, stderr], [1, `connbook: ${error.stack}\n`])
    }
    assert.equal((await fail('a text')).stderr, 'connbook: a text\n')
  })
})
