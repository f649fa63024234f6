import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { accountsDocument, addAccount, findAccount, noAccounts } from '../../src/auth/accounts.ts'
import { verifyPassword } from '../../src/auth/password.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { runCommand } from '../support/command.ts'
import { hasTerminals, keysOf, startAtTerminal } from '../support/pseudo-terminal.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const { enter, ctrlC, ctrlD } = keysOf
const password = 'pässwörd "typed"'

const shown = (text: string) => JSON.stringify(text.slice(0, 20))

async function makeFolder(t: TestContext) {
  const folder = await temporaryFolder(t)
  const document = accountsDocument(folder)
  await document.write(addAccount(noAccounts, 'client', 'script', 'sha256:'))
  return {
    folder,
    accountsText: () => readFile(join(folder, dataFiles.accounts), 'utf8'),
    async opens(typed: string) {
      const secret = findAccount((await document.read()) ?? assert.fail('no accounts'), 'user', 'eve')?.secret
      return secret !== undefined && (await verifyPassword(typed, secret))
    },
  }
}

describe('a password at a terminal', { skip: !hasTerminals && 'there is no script command' }, () => {
  it('is asked for twice and not shown', async (t) => {
    const { folder, opens } = await makeFolder(t)
    const terminal = startAtTerminal(t, ['user', 'add', 'eve', '--data', folder])
    await terminal.sees('Password for "eve": ')
    terminal.type(password + enter)
    await terminal.sees('The same again: ')
    terminal.type(password + enter)
    await terminal.sees(`Added user "eve" in ${folder}`)
    assert.equal(await terminal.exitCode, 0)
    assert.doesNotMatch(terminal.screen(), /typed/)
    assert.equal(await opens(password), true)
  })

  it('may be corrected while it is typed', async (t) => {
    const { folder, opens } = await makeFolder(t)
    const terminal = startAtTerminal(t, ['user', 'add', 'eve', '--data', folder])
    for (const question of ['Password', 'The same again']) {
      await terminal.sees(question)
      terminal.type(`passworf\u007fd${enter}`)
    }
    assert.equal(await terminal.exitCode, 0)
    assert.equal(await opens('password'), true)
  })

  const refusals: Record<string, readonly [typed: readonly string[], message: RegExp]> = {
    'differs the second time': [[`${password}${enter}`, `other${enter}`], /The two passwords differ/],
    'is empty': [[enter], /The password is empty/],
    'is given up with Ctrl-C': [[`abc${ctrlC}`], /No password was typed/],
    'is given up with Ctrl-D': [[ctrlD], /No password was typed/],
    'is given up the second time': [[`${password}${enter}`, ctrlC], /No password was typed/],
  }
  for (const [what, [typed, message]] of Object.entries(refusals)) {
    it(`that ${what} changes nothing and is exit 2`, async (t) => {
      const { folder, accountsText } = await makeFolder(t)
      const before = await accountsText()
      const terminal = startAtTerminal(t, ['user', 'add', 'eve', '--data', folder])
      const questions = ['Password for "eve": ', 'The same again: ']
      for (const [i, text] of typed.entries()) {
        await terminal.sees(questions[i] ?? assert.fail('no more questions'))
        terminal.type(text)
      }
      assert.equal(await terminal.exitCode, 2)
      assert.match(terminal.screen(), message)
      assert.doesNotMatch(terminal.screen(), /typed"|\n {4}at /)
      assert.equal(await accountsText(), before)
    })
  }
})

describe('a password on standard input', () => {
  const taken: Record<string, string> = {
    secret: 'secret',
    'secret\n': 'secret',
    'secret\r\n': 'secret',
    ' secret \n': ' secret ',
    'pässwörd 🔑\n': 'pässwörd 🔑',
    [`${'é'.repeat(512)}\r\n`]: 'é'.repeat(512),
  }
  for (const [input, expected] of Object.entries(taken)) {
    it(`is ${shown(expected)} for ${shown(input)}`, async (t) => {
      const { folder, opens } = await makeFolder(t)
      const { code, stderr } = await runCommand(['user', 'add', 'eve', '--data', folder], { input })
      assert.deepEqual([code, stderr], [0, ''])
      assert.equal(await opens(expected), true)
    })
  }

  it('is refused when it is not UTF-8', async (t) => {
    const { folder, accountsText } = await makeFolder(t)
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
    'secret\n\n': /^connbook: The password has more than one line/,
    'one\ntwo\n': /^connbook: The password has more than one line/,
    'one\rtwo': /^connbook: The password has more than one line/,
  }
  for (const [input, message] of Object.entries(refused)) {
    it(`is refused when it is ${shown(input)}`, async (t) => {
      const { folder, accountsText } = await makeFolder(t)
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
