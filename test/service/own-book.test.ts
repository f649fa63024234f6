import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { readResponse } from '../../src/client/call.ts'
import { ownerCredential } from '../../src/client/credential.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { OwnBook } from '../../src/service/own-book.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { usedFolder } from '../support/service.ts'

const atOnce = { lockWaitMs: 0 }

async function setUp(t: TestContext) {
  const path = await usedFolder(t)
  const folder = dataPaths(path)
  const options = { environment: {}, log: createMemoryLog(), screen: { write() {} }, isMadeIfMissing: false }
  const book = new OwnBook(folder, options)
  t.after(() => book[Symbol.asyncDispose]())
  const { headers } = ownerCredential({ by: 'me', command: 'test' })
  const list = async () => {
    const call = {
      method: 'GET',
      path: '/configurations/',
      headers: await headers(undefined as never),
    } as const
    return book.call(call, {})
  }
  return { path, book, list }
}

describe('the book of a command', () => {
  it('has the folder during a call alone, and its answer is of that moment', async (t) => {
    const { path, book, list } = await setUp(t)
    const answer = await list()
    assert.equal(book.isOpen, true)
    await book[Symbol.asyncDispose]()
    assert.equal(book.isOpen, false)
    const other = await openDataFolder(path, undefined, atOnce)
    other.release()
    const { status, text } = await readResponse(answer)
    assert.deepEqual([status, JSON.parse(text)], [200, { configurations: [] }])
  })

  it('is opened once for calls that come together, and anew by a later one', async (t) => {
    const { book, list } = await setUp(t)
    const answers = await Promise.all([list(), list(), list()])
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    )
    await book[Symbol.asyncDispose]()
    assert.equal((await list()).status, 200)
  })

  it('tells all who call that the folder is in use, and tries again at the next call', async (t) => {
    const { path, book, list } = await setUp(t)
    const other = await openDataFolder(path, undefined, atOnce)
    for (const outcome of await Promise.allSettled([list(), list()])) {
      assert.equal(outcome.status, 'rejected')
      assert.equal(outcome.status === 'rejected' && outcome.reason.code, 'folder_in_use')
    }
    assert.equal(book.isOpen, false)
    other.release()
    assert.equal((await list()).status, 200)
  })
})
