import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { makePasswordFolder } from '../commands/password-folder.ts'
import { hasTerminals, keysOf, startAtTerminal } from '../support/pseudo-terminal.ts'

const { enter, ctrlC, ctrlD } = keysOf
const password = 'pässwörd "typed"'

describe('a password at a terminal', { skip: !hasTerminals && 'there is no script command' }, () => {
  it('is asked for twice and not shown', async (t) => {
    const { folder, opens } = await makePasswordFolder(t)
    const terminal = startAtTerminal(t, ['user', 'add', 'eve', '--data', folder])
    await terminal.sees('Password for "eve": ')
    terminal.type(password + enter)
    await terminal.sees('Repeat it: ')
    terminal.type(password + enter)
    await terminal.sees(`Added user "eve" in ${folder}`)
    assert.equal(await terminal.exitCode, 0)
    assert.doesNotMatch(terminal.screen(), /typed/)
    assert.equal(await opens(password), true)
  })

  it('can be corrected while it is typed', async (t) => {
    const { folder, opens } = await makePasswordFolder(t)
    const terminal = startAtTerminal(t, ['user', 'add', 'eve', '--data', folder])
    for (const question of ['Password', 'Repeat it']) {
      await terminal.sees(question)
      terminal.type(`passworf\u007fd${enter}`)
    }
    assert.equal(await terminal.exitCode, 0)
    assert.equal(await opens('password'), true)
  })

  it('is asked for without what would control the terminal', async (t) => {
    const { folder } = await makePasswordFolder(t)
    const terminal = startAtTerminal(t, ['user', 'add', 'e\u202eve', '--data', folder])
    await terminal.sees('Password for "e\\u202eve": ')
    terminal.type(ctrlC)
    assert.equal(await terminal.exitCode, 130)
    assert.doesNotMatch(terminal.screen(), /\u202e/)
  })

  const refusals: Record<string, readonly [typed: readonly string[], message: RegExp, code?: number]> = {
    'differs the second time': [[`${password}${enter}`, `other${enter}`], /The two passwords differ/],
    'is empty': [[enter], /The password is empty/],
    'is given up with Ctrl-D': [[ctrlD], /No password was typed/],
    'is interrupted with Ctrl-C': [[`abc${ctrlC}`], /Interrupted at the question; nothing has changed/, 130],
    'is interrupted the second time': [[`${password}${enter}`, ctrlC], /Interrupted at the question/, 130],
  }
  for (const [what, [typed, message, code = 2]] of Object.entries(refusals)) {
    it(`that ${what} changes nothing and exits with ${code}`, async (t) => {
      const { folder, accountsText } = await makePasswordFolder(t)
      const before = await accountsText()
      const terminal = startAtTerminal(t, ['user', 'add', 'eve', '--data', folder])
      const questions = ['Password for "eve": ', 'Repeat it: ']
      for (const [i, text] of typed.entries()) {
        await terminal.sees(questions[i] ?? assert.fail('no more questions'))
        terminal.type(text)
      }
      assert.equal(await terminal.exitCode, code)
      assert.match(terminal.screen(), message)
      assert.doesNotMatch(terminal.screen(), /typed"|\n {4}at /)
      assert.equal(await accountsText(), before)
    })
  }
})
