import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ClusterRefusedError } from '../../src/cluster/cluster-error.ts'
import { EtcdDocument } from '../../src/cluster/etcd-document.ts'
import { EtcdError } from '../../src/cluster/etcd-error.ts'
import type { WatchEvent } from '../../src/cluster/messages.ts'
import { Sealer } from '../../src/cluster/sealed-text.ts'
import { CLUSTER_CHANGE_MS } from '../../src/cluster/settled-transaction.ts'
import { OutcomeUnknownError, StorageFullError, StorageUnavailableError } from '../../src/errors.ts'
import { DocumentBusyError } from '../../src/files/shared-document.ts'
import { LOCK_WAIT_MS } from '../../src/limits.ts'
import { createMemoryEtcd, type Mishap } from '../support/memory-etcd.ts'
import { createMemoryLog } from '../support/memory-log.ts'

type Words = readonly string[]
const KEY = '/connbook/auth/keys'
const form = { format: 'connbook keys', version: 1, parse: (input: unknown) => input as Words }
const sealer = new Sealer(Buffer.alloc(32, 1), '/etc/key')

/** etcd with a document that holds `['a']`, and one node. */
async function setUp() {
  const etcd = createMemoryEtcd()
  const node = () => new EtcdDocument<Words>({ gateway: etcd, key: KEY, name: 'keys', form, sealer })
  const document = node()
  await etcd.put(KEY, document.encode(['a']))
  return { etcd, node, document, stored: () => document.decode({ value: etcd.valueOf(KEY) ?? '' }) }
}

const adding = (word: string) => (found: Words) => [...found, word]

/** Makes the next transactions fail, one after the other. */
function mishaps(...all: readonly (Mishap | undefined)[]) {
  const left = [...all]
  return () => left.shift()
}

/** Lets the clock of `performance` jump so far that a wait is over. */
function jump(t: TestContext, ms: number) {
  const now = performance.now.bind(performance)
  let ahead = 0
  t.mock.method(performance, 'now', () => now() + ahead)
  return () => {
    ahead = ms
  }
}

describe('a document in etcd', () => {
  it('is sealed', async () => {
    const { etcd, document } = await setUp()
    await document.edit(() => ['top secret'])
    assert.doesNotMatch(etcd.valueOf(KEY) ?? '', /top secret/)
    assert.deepEqual(await document.read(), ['top secret'])
  })

  it('is refused if it is missing, cannot be read, or is sealed with another key', async () => {
    const { etcd, document } = await setUp()
    const gone = new EtcdDocument<Words>({ gateway: etcd, key: '/other', name: 'keys', form })
    await assert.rejects(gone.read(), {
      name: 'DamagedKeyError',
      message: /"\/other" of etcd at .*: it is missing; /,
    })
    await etcd.put(KEY, 'nonsense')
    await assert.rejects(document.read(), ClusterRefusedError)
    await assert.rejects(document.edit(adding('b')), ClusterRefusedError)
    await etcd.put(KEY, new Sealer(Buffer.alloc(32, 2), '').seal('{}', KEY))
    await assert.rejects(document.read(), {
      name: 'WrongKeyFileError',
      message: /signing keys in etcd at \S+ were sealed with another key; give each node the same file$/,
    })
  })

  it('is edited, and the edit returns what was there', async () => {
    const { document, stored } = await setUp()
    let followed = 0
    const afterwards = async () => {
      followed += 1
    }
    assert.deepEqual(await document.edit(adding('b'), afterwards), { before: ['a'], after: ['a', 'b'] })
    assert.deepEqual(stored(), ['a', 'b'])
    assert.equal(followed, 1)
  })

  it('is not written if the edit returns what it was given, or throws', async () => {
    const { etcd, document } = await setUp()
    const { revision } = etcd
    const never = () => assert.fail('nothing was written')
    const { before, after } = await document.edit((found) => found, never)
    assert.equal(before, after)
    await assert.rejects(
      document.edit(() => Promise.reject(new Error('made by the test')), never),
      /made by the test/,
    )
    assert.equal(etcd.revision, revision)
  })

  it('loses no edit when many make one at the same time', async () => {
    const { node, stored } = await setUp()
    const words = Array.from({ length: 20 }, (_, i) => `w${i}`)
    await Promise.all(words.map((word) => node().edit(adding(word))))
    assert.deepEqual([...stored()].sort(), ['a', ...words].sort())
  })

  it('loses no edit of another that it hears of while it makes its own', async () => {
    const { etcd, document, node, stored } = await setUp()
    etcd.onEvents = (events) => {
      for (const event of events) document.take(event)
    }
    let isFirst = true
    await document.edit(async (found) => {
      if (isFirst) await node().edit(adding('x'))
      isFirst = false
      return [...found, 'b']
    })
    assert.deepEqual(stored(), ['a', 'x', 'b'])
  })

  it('gives up when others are faster for too long, and has changed nothing', async (t) => {
    const { etcd, document, node, stored } = await setUp()
    const waitIsOver = jump(t, LOCK_WAIT_MS)
    const other = node()
    let count = 0
    const change = async (found: Words) => {
      count += 1
      await etcd.put(KEY, other.encode([`${count}`]))
      if (count === 3) waitIsOver()
      return [...found, 'mine']
    }
    await assert.rejects(document.edit(change), DocumentBusyError)
    assert.deepEqual([count, stored()], [3, ['3']])
  })
})

describe('an edit whose answer is lost', () => {
  it('is made once', async () => {
    const { etcd, document, stored } = await setUp()
    etcd.before = mishaps('answer lost', 'answer lost')
    let calls = 0
    await document.edit((found) => {
      calls += 1
      return [...found, 'b']
    })
    assert.deepEqual([calls, stored()], [1, ['a', 'b']])
  })

  it('is made if it had not arrived', async () => {
    const { etcd, document, stored } = await setUp()
    etcd.before = mishaps('request lost', 'unavailable', 'unreachable')
    await document.edit(adding('b'))
    assert.deepEqual(stored(), ['a', 'b'])
  })

  it('waits for an etcd that does not answer at first, which a read does not', async () => {
    const { etcd, document, stored } = await setUp()
    const { range } = etcd
    const fail = () => Promise.reject(new EtcdError('', 'timed_out', 'made by the test', { isUndone: false }))
    etcd.range = fail
    await assert.rejects(document.read(), StorageUnavailableError)
    let count = 0
    etcd.range = (query) => (count++ < 2 ? fail() : range(query))
    await document.edit(adding('b'))
    assert.deepEqual(stored(), ['a', 'b'])
  })

  it('is known as made when others have changed the document since', async () => {
    const { etcd, document, node, stored } = await setUp()
    const others = async () => {
      const other = node()
      for (const word of ['x', 'y', 'z']) await other.edit(adding(word))
      return undefined
    }
    const inOrder = ['answer lost', others] as const
    let count = 0
    etcd.before = () => {
      const next = inOrder[count++]
      return typeof next === 'function' ? next() : next
    }
    const { after } = await document.edit(adding('b'))
    assert.deepEqual(after, ['a', 'b'])
    assert.deepEqual(stored(), ['a', 'b', 'x', 'y', 'z'])
  })

  it('is made anew when another came first', async () => {
    const { etcd, document, node, stored } = await setUp()
    const inOrder = ['request lost', async () => void (await node().edit(adding('x')))] as const
    let count = 0
    etcd.before = () => {
      const next = inOrder[count++]
      return typeof next === 'function' ? next().then(() => undefined) : next
    }
    const { before } = await document.edit(adding('b'))
    assert.deepEqual(
      [before, stored()],
      [
        ['a', 'x'],
        ['a', 'x', 'b'],
      ],
    )
  })

  it('has an unknown outcome if etcd has forgotten its past', async () => {
    const { etcd, document, node } = await setUp()
    let count = 0
    etcd.before = async () => {
      count += 1
      if (count === 1) return 'answer lost'
      if (count > 2) return undefined
      for (const word of ['x', 'y']) await node().edit(adding(word))
      etcd.compact()
      return undefined
    }
    await assert.rejects(document.edit(adding('b')), OutcomeUnknownError)
  })

  it('has an unknown outcome if the document was removed and made anew since', async () => {
    const { etcd, document, node } = await setUp()
    let count = 0
    etcd.before = async () => {
      count += 1
      if (count === 1) return 'answer lost'
      etcd.remove(KEY)
      for (const word of ['x', 'y']) await etcd.put(KEY, node().encode([word]))
      return undefined
    }
    await assert.rejects(document.edit(adding('b')), OutcomeUnknownError)
  })

  it('has an unknown outcome if etcd does not answer any more', async (t) => {
    const { etcd, document } = await setUp()
    const waitIsOver = jump(t, CLUSTER_CHANGE_MS)
    etcd.before = () => {
      waitIsOver()
      return 'answer lost'
    }
    await assert.rejects(document.edit(adding('b')), OutcomeUnknownError)
  })
})

describe('an edit that etcd refuses', () => {
  it('has changed nothing, and says why', async (t) => {
    const { etcd, document, stored } = await setUp()
    etcd.before = mishaps('no_space')
    await assert.rejects(document.edit(adding('b')), StorageFullError)
    etcd.before = mishaps('denied')
    await assert.rejects(document.edit(adding('b')), {
      name: 'StorageUnavailableError',
      message: /^Cannot change the keys: etcd at http:\/\/127\.0\.0\.1:2379: .*; give the role/,
    })
    const waitIsOver = jump(t, CLUSTER_CHANGE_MS)
    etcd.before = () => {
      waitIsOver()
      return 'unreachable'
    }
    await assert.rejects(document.edit(adding('b')), StorageUnavailableError)
    assert.deepEqual(stored(), ['a'])
  })
})

describe('a follower of a document in etcd', () => {
  async function follow(content: Words = ['a']) {
    const { etcd, document, ...others } = await setUp()
    const log = createMemoryLog()
    const takenUp: Words[] = []
    const stop = document.follow({
      content,
      takeUp: (found) => takenUp.push(found),
      findFault: ({ length }) => (length === 0 ? { reason: 'it is empty', advice: 'fill it' } : undefined),
      log,
    })
    etcd.onEvents = (events) => {
      for (const event of events) document.take(event)
    }
    return { etcd, document, log, takenUp, stop, ...others }
  }

  it('takes up what it hears, once', async () => {
    const { etcd, document, node, takenUp } = await follow()
    await node().edit(adding('b'))
    await node().edit(adding('c'))
    assert.deepEqual(takenUp, [
      ['a', 'b'],
      ['a', 'b', 'c'],
    ])
    await etcd.put(KEY, document.encode(['a', 'b', 'c']))
    await etcd.put('/connbook/auth/other', document.encode(['x']))
    assert.equal(takenUp.length, 2)
  })

  it('has taken up an edit of this node when that resolves, and hears it only once', async () => {
    const { etcd, document, takenUp } = await follow()
    const late: WatchEvent[] = []
    etcd.onEvents = (events) => late.push(...events)
    await document.edit(adding('b'))
    assert.deepEqual(takenUp, [['a', 'b']])
    await document.edit(adding('c'))
    for (const event of late) document.take(event)
    assert.deepEqual(takenUp, [
      ['a', 'b'],
      ['a', 'b', 'c'],
    ])
  })

  it('takes up what changed before it began', async () => {
    const { document } = await setUp()
    await document.edit(adding('b'))
    const takenUp: Words[] = []
    document.follow({ content: ['a'], takeUp: (found) => takenUp.push(found), log: createMemoryLog() })
    assert.deepEqual(takenUp, [['a', 'b']])
  })

  it('takes up an older state, after etcd was restored from a snapshot', async () => {
    const { etcd, document, takenUp } = await follow()
    const [old = assert.fail()] = (await etcd.range({ key: KEY })).kvs
    await document.edit(adding('b'))
    document.load(old)
    assert.deepEqual(takenUp, [['a', 'b'], ['a']])
    const kv = { ...old, modRevision: old.modRevision + 1, value: document.encode(['c']) }
    document.take({ kind: 'put', kv, previous: undefined })
    assert.deepEqual(takenUp.slice(2), [['c']])
  })

  it('keeps a newer state when a reading of the same past was begun before', async () => {
    const { etcd, document, takenUp } = await follow()
    const [old = assert.fail()] = (await etcd.range({ key: KEY })).kvs
    await document.edit(adding('b'))
    document.takeNewer(old)
    assert.deepEqual(takenUp, [['a', 'b']])
  })

  it('keeps what it has and logs that once, while there is nothing better', async () => {
    const { etcd, document, log, node, takenUp } = await follow()
    await etcd.put(KEY, 'nonsense')
    await etcd.put(KEY, 'nonsense')
    await etcd.put(KEY, document.encode([]))
    document.take({ kind: 'delete', key: KEY, modRevision: etcd.revision + 1, previous: undefined })
    assert.deepEqual(log.events, ['keys_reload_failed', 'keys_reload_failed', 'keys_missing'])
    assert.match(log.lines[1] ?? '', /it is empty; fill it/)
    assert.deepEqual(takenUp, [])
    etcd.before = () => undefined
    await etcd.put('/filler', '')
    await etcd.put(KEY, node().encode(['z']))
    assert.deepEqual(takenUp, [['z']])
  })

  it('hears nothing more once it is closed', async () => {
    const { node, takenUp, stop } = await follow()
    stop()
    await node().edit(adding('b'))
    assert.deepEqual(takenUp, [])
  })
})
