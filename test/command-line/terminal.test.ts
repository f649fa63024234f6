import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { OpenedBooks } from '../../src/command-line/opened-books.ts'
import { confirm } from '../../src/command-line/terminal.ts'
import { makePasswordFolder } from '../commands/password-folder.ts'
import { runCommand } from '../support/command.ts'
import { plainStyle } from '../support/plain-style.ts'

const shown = (text: string) => JSON.stringify(text.slice(0, 20))

describe('a password on standard input', () => {
  const taken: Record<string, string> = {
    'a secret': 'a secret',
    'a secret\n': 'a secret',
    'a secret\r\n': 'a secret',
    '\ufeffa secret\r\n': 'a secret',
    'a  secret\n': 'a  secret',
    'pässwörd 🔑\n': 'pässwörd 🔑',
    [`${'é'.repeat(512)}\r\n`]: 'é'.repeat(512),
  }
  for (const [input, expected] of Object.entries(taken)) {
    it(`is ${shown(expected)} for ${shown(input)}`, async (t) => {
      const { folder, opens } = await makePasswordFolder(t)
      const { code, stderr } = await runCommand(['user', 'add', 'eve', '--data', folder], { input })
      assert.deepEqual([code, stderr], [0, `Added user "eve" in ${folder}\n`])
      assert.equal(await opens(expected), true)
    })
  }

  it('is refused when it is not UTF-8', async (t) => {
    const { folder, accountsText } = await makePasswordFolder(t)
    const before = await accountsText()
    const input = Buffer.from('pässwörd', 'latin1')
    assert.deepEqual(await runCommand(['user', 'add', 'eve', '--data', folder], { input }), {
      code: 2,
      stdout: '',
      stderr: 'connbook: Cannot use the password: it is not UTF-8\n',
    })
    assert.equal(await accountsText(), before)
  })

  const refused: Record<string, RegExp> = {
    [`${'é'.repeat(512)}x`]: /^connbook: Cannot use the password: it is longer than 1024 bytes\n$/,
    ['x'.repeat(1_000_000)]: /^connbook: Cannot use the password: it is longer than 1024 bytes\n$/,
    '': /^connbook: The password is empty/,
    '\n': /^connbook: The password is empty/,
    '\r\n': /^connbook: The password is empty/,
    'secret\n\n': /^connbook: Cannot use the password: it has more than one line/,
    'one\ntwo\n': /^connbook: Cannot use the password: it has more than one line/,
    ' secret \n':
      /^connbook: Cannot use the password: it begins or ends with white space, U\+0020; leave it out\n$/,
    'one\rtwo': /^connbook: Cannot use the password: it has more than one line/,
  }
  for (const [input, message] of Object.entries(refused)) {
    it(`is refused when it is ${shown(input)}`, async (t) => {
      const { folder, accountsText } = await makePasswordFolder(t)
      const before = await accountsText()
      const { code, stdout, stderr } = await runCommand(['user', 'add', 'eve', '--data', folder], {
        input,
      })
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, message)
      assert.match(stderr, /^[^\n]+\n$/)
      assert.equal(await accountsText(), before)
    })
  }
})

describe('a question at a terminal', () => {
  it('does not control it, whatever is named in it', async () => {
    let shown = ''
    const show = (text: string) => (shown += text)
    await confirm('Replace "\u001b[2J\u202e"?', {
      environment: {},
      input: Object.assign(Readable.from([Buffer.from('y\n')]), { isTTY: true }),
      print: async () => {},
      style: plainStyle,
      screen: { isTTY: true, write: show, draw: show },
      opened: new OpenedBooks(),
    })
    assert.ok(shown.includes('Replace "\\u001b[2J\\u202e"? [y/N] '))
    assert.doesNotMatch(shown, /\u202e|\[2J(?!\\)/)
  })
})
