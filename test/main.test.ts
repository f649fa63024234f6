import './support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { helpFor } from '../src/command-line/help.ts'
import { commands } from '../src/commands/commands.ts'
import { runCommand } from './support/command.ts'
import { plainStyle } from './support/plain-style.ts'
import { temporaryFolder } from './support/temporary-folder.ts'

const help = (...words: string[]) => helpFor(commands, words, plainStyle)

describe('connbook', () => {
  const helps: Record<string, string> = {
    'serve --help': help('serve'),
    'user --help': help('user'),
    'user add --help': help('user', 'add'),
    'client list -h': help('client', 'list'),
    'backup x --help': help('backup', '--help'),
    '--port 1 --help': help('serve'),
    'help keys rotate': help('keys', 'rotate'),
  }
  for (const [words, stdout] of Object.entries(helps)) {
    it(`${words} only shows the help of the command`, async (t) => {
      const place = await temporaryFolder(t)
      const environment = { CONNBOOK_DATA: join(place, 'data') }
      const shown = await runCommand(words.split(' '), { environment })
      assert.deepEqual(shown, { code: 0, stdout, stderr: '' })
      assert.deepEqual(await readdir(place), [])
    })
  }

  it('takes --help after -- as a name', async (t) => {
    const environment = { CONNBOOK_DATA: join(await temporaryFolder(t), 'data') }
    assert.equal((await runCommand(['user', 'remove', '--', '--help'], { environment })).code, 1)
  })

  const misunderstood: Record<
    string,
    readonly [args: readonly string[], environment: NodeJS.ProcessEnv, message: string]
  > = {
    'an unknown command': [['begin'], {}, 'Unknown command "begin"; see connbook help'],
    'a chapter for a command': [
      ['start'],
      {},
      'Unknown command "start"; the manual has a chapter: connbook help start',
    ],
    'a misspelt command': [['resotre', 'x'], {}, 'Unknown command "resotre"; did you mean restore?'],
    'an unknown word after help': [['help', 'xx'], {}, 'There is no help on "xx"; see connbook help'],
    'an unknown command with --help': [
      ['user', 'ad', '--help'],
      {},
      'Unknown command "user ad"; did you mean user add?',
    ],
    'a flag after help': [['help', '--port'], {}, 'Unknown flag "--port"; see connbook help'],
    'a dash after help': [['help', '-'], {}, 'Unknown flag "-"; see connbook help'],
    'a flag after help and --': [['help', '--', '-x'], {}, 'Unknown flag "-x"; see connbook help'],
    'a word after --version': [['--version', 'foo'], {}, 'Write it as: connbook --version'],
    'an empty command': [[''], {}, 'Unknown command ""; see connbook help'],
    'a word after serve': [['serve', 'now'], {}, 'Unknown command "now"; see connbook help'],
    'a word after the flags': [['--port', '0', 'now'], {}, 'Unknown command "now"; see connbook help'],
    'an unknown flag before a command': [
      ['--bogus', 'user', 'list'],
      {},
      'Unknown flag "--bogus"; see connbook help',
    ],
    '--help after a chapter': [
      ['start', '--help'],
      {},
      'Unknown command "start"; the manual has a chapter: connbook help start',
    ],
    'flags before the command': [
      ['--data', 'my data', '--read-only', 'user', 'add', '--', '-eve'],
      {},
      "Flags come after the command: connbook user add --data 'my data' --read-only -- -eve",
    ],
    'a flag of a command before it': [
      ['--format=csv', 'export', '-'],
      {},
      'Flags come after the command: connbook export - --format=csv',
    ],
    'flags before serve': [
      ['--port', '0', 'serve'],
      {},
      'Flags come after the command: connbook serve --port 0',
    ],
    'flags before the name of a command that is the value of one': [
      ['--data', 'export', 'user', 'list'],
      {},
      'Flags come after the command: connbook user list --data export',
    ],
    'flags before a command that does not take them': [
      ['--host', 'user', '--data', 'export', 'user', 'list'],
      {},
      'Flags come after the command; see connbook help user',
    ],
    'flags before half a command': [
      ['--data', 'd', 'user'],
      {},
      'Flags come after the command; see connbook help user',
    ],
    'flags before a command that has none': [
      ['--port', '0', 'help'],
      {},
      'Unknown command "help"; see connbook help',
    ],
    'a command after --': [['--', 'user', 'list'], {}, 'Unknown command "user list"; see connbook help'],
    'an unknown flag': [['--prot', '1'], {}, 'Unknown flag "--prot"; did you mean --port?'],
    'an unknown flag after serve': [['serve', '-x'], {}, 'Unknown flag "-x"; see connbook help'],
    'a bad value': [
      ['--port', 'x'],
      {},
      'Cannot use --port "x": it must be a number from 0 to 65535, without leading zeros',
    ],
    'a bad variable': [
      [],
      { CONNBOOK_PORT: 'x' },
      'Cannot use CONNBOOK_PORT "x": it must be a number from 0 to 65535, without leading zeros',
    ],
    'a bad variable that is checked last': [
      [],
      { PORT: 'x' },
      'Cannot use PORT "x": it must be a number from 0 to 65535, without leading zeros',
    ],
    'a missing value': [['--data'], {}, 'The flag --data needs a value: --data FOLDER'],
    'a flag for a value': [['--data', '--port', '0'], {}, 'The flag --data needs a value: --data FOLDER'],
    'an empty value': [['--port='], {}, 'Cannot use --port "": it is empty; give a value, or leave it out'],
    'a port with a leading zero': [
      ['--port', '022'],
      {},
      'Cannot use --port "022": it must be a number from 0 to 65535, without leading zeros',
    ],
    'a word that is not UTF-8': [
      ['user', 'add', 'a\ufffd'],
      {},
      'Cannot read "a\ufffd": it is not UTF-8; write it in UTF-8',
    ],
    'a variable that is not UTF-8': [
      ['user', 'list'],
      { CONNBOOK_DATA: 'a\ufffd' },
      'Cannot use CONNBOOK_DATA "a\ufffd": it is not UTF-8',
    ],
    'half of TLS': [
      ['--tls-key', 'k'],
      {},
      'Cannot serve HTTPS with only one of --tls-cert and --tls-key; give both or neither',
    ],
  }
  for (const [what, [args, environment, message]] of Object.entries(misunderstood)) {
    it(`exits with code 2 and one line for ${what}, and creates no folder`, async (t) => {
      const place = await temporaryFolder(t)
      const given = { CONNBOOK_DATA: join(place, 'data'), ...environment }
      const stderr = `connbook: ${message}\n`
      assert.deepEqual(await runCommand(args, { environment: given }), { code: 2, stdout: '', stderr })
      assert.deepEqual(await readdir(place), [])
    })
  }
})
