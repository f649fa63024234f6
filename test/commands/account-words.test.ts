import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { OpenedBooks } from '../../src/command-line/opened-books.ts'
import { showAccounts } from '../../src/commands/account-words.ts'

const account = {
  name: 'nimda\u202e',
  scope: 'read',
  grants: ['read?prefix=\u2066a', 'read?prefix=\u001b[2J'],
} as const

async function shownTo(isTerminal: boolean): Promise<string> {
  let text = ''
  const print = async (piece: string | Uint8Array) => {
    text += piece
  }
  const style = { isTerminal, isBold: false, columns: 80 }
  const [screen, opened] = [{ write() {}, draw() {} }, new OpenedBooks()]
  await showAccounts([account], 'user', {
    print,
    style,
    environment: {},
    input: process.stdin,
    screen,
    opened,
  })
  return text
}

describe('a list of accounts', () => {
  it('shows hidden characters of names and grants on a terminal', async () => {
    const text = await shownTo(true)
    assert.match(text, /nimda\\u202e .* read\?prefix=\\u2066a read\?prefix=\\u001b\[2J\n$/)
    for (const hidden of ['\u202e', '\u2066', '\u001b']) assert.ok(!text.includes(hidden))
  })

  it('has them as they are in a pipe', async () => {
    assert.equal(await shownTo(false), `${account.name}\tread-only\t${account.grants.join(' ')}\n`)
  })
})
