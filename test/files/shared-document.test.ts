import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { OwnedDocument } from '../../src/files/shared-document.ts'

type Words = readonly string[]

const adding = (word: string) => (found: Words) => [...found, word]

/** A document that is stored with `a`. */
function setUp() {
  let stored: Words = ['a']
  const calls: string[] = []
  const storage = {
    async read() {
      calls.push('read')
      return stored
    },
    async write(content: Words) {
      calls.push(`write ${content}`)
      await nextTurn()
      stored = content
    },
  }
  return { storage, calls, stored: () => stored, document: new OwnedDocument<Words>(storage) }
}

describe('a document that this process owns', () => {
  it('is read once, when it is first needed', async () => {
    const { calls, document, storage } = setUp()
    assert.deepEqual(calls, [])
    assert.deepEqual(await document.read(), ['a'])
    await document.edit(adding('b'))
    assert.deepEqual(await document.read(), ['a', 'b'])
    assert.deepEqual(calls, ['read', 'write a,b'])
    assert.deepEqual(await new OwnedDocument<Words>(storage, ['known']).read(), ['known'])
  })

  it('keeps both of two edits at once, and writes one after the other', async () => {
    const { calls, document, stored } = setUp()
    const edits = ['b', 'c', 'd'].map((word) => document.edit(adding(word)))
    const [first, , last] = await Promise.all(edits)
    assert.deepEqual(first, { before: ['a'], after: ['a', 'b'] })
    assert.deepEqual(last?.after, ['a', 'b', 'c', 'd'])
    assert.deepEqual(stored(), ['a', 'b', 'c', 'd'])
    assert.deepEqual(calls, ['read', 'write a,b', 'write a,b,c', 'write a,b,c,d'])
  })

  it('is taken up once it is stored, before the edit resolves', async () => {
    const { document, stored } = setUp()
    const takenUp: unknown[] = []
    const stop = document.follow({ takeUp: (content) => takenUp.push([content, stored()]) })
    await document.edit(adding('b'), async () => {
      takenUp.push('afterwards')
    })
    assert.deepEqual(takenUp, [
      [
        ['a', 'b'],
        ['a', 'b'],
      ],
      'afterwards',
    ])
    stop()
    await document.edit(adding('c'))
    assert.equal(takenUp.length, 2)
  })

  it('begins the next edit only when what follows the one before has ended', async () => {
    const { document } = setUp()
    const { promise, resolve } = Promise.withResolvers<void>()
    const seen: string[] = []
    const first = document.edit(adding('b'), async () => {
      await promise
      seen.push('afterwards')
    })
    const second = document.edit((found) => {
      seen.push('next')
      return found
    })
    resolve()
    await Promise.all([first, second])
    assert.deepEqual(seen, ['afterwards', 'next'])
  })

  it('stays as it was when nothing changes, or a change or a write fails; later edits go on', async () => {
    const { document, storage, stored } = setUp()
    const takenUp: unknown[] = []
    document.follow({ takeUp: (content) => takenUp.push(content) })
    const never = () => assert.fail('nothing was written')
    const { before, after } = await document.edit((found) => found, never)
    assert.equal(before, after)
    const fault = new Error('made by the test')
    await assert.rejects(
      document.edit(() => Promise.reject(fault), never),
      fault,
    )
    const { write } = storage
    storage.write = () => Promise.reject(fault)
    await assert.rejects(document.edit(adding('lost'), never), fault)
    assert.deepEqual([await document.read(), stored(), takenUp], [['a'], ['a'], []])
    storage.write = write
    await document.edit(adding('b'))
    assert.deepEqual([stored(), takenUp], [['a', 'b'], [['a', 'b']]])
  })

  it('is read again after a reading has failed', async () => {
    const { document, storage } = setUp()
    const { read } = storage
    storage.read = () => Promise.reject(new Error('made by the test'))
    await assert.rejects(document.read(), /made by the test/)
    await assert.rejects(document.edit(adding('b')), /made by the test/)
    storage.read = read
    assert.deepEqual(await document.read(), ['a'])
  })

  it('is not put back by a reading that an edit has overtaken', async () => {
    const { document, storage } = setUp()
    const { promise, resolve } = Promise.withResolvers<void>()
    const { read } = storage
    storage.read = async () => {
      const found = await read()
      await promise
      return found
    }
    const late = document.read()
    storage.read = read
    await document.edit(adding('b'))
    resolve()
    assert.deepEqual(await late, ['a', 'b'])
    assert.deepEqual(await document.read(), ['a', 'b'])
  })
})
