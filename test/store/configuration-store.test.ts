import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { FolderInUseError, OverloadedError, StorageFullError } from '../../src/errors.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { WAITING_CHANGES_MAX } from '../../src/limits.ts'
import type { ConfigurationStore } from '../../src/store/configuration-store.ts'
import { NameTakenError, StaleRecordError, UnknownNameError } from '../../src/store/refusals.ts'
import { createFailingFiles, holdUp, systemError } from '../support/failing-files.ts'
import { draft, names, openStore, someone, storedNames } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A store with some records, on a disk that the test can delay. */
async function heldStore(t: TestContext, existing: readonly string[] = []) {
  const path = await temporaryFolder(t)
  const files = createFailingFiles()
  const opened = await openStore(t, path, { files })
  for (const name of existing) await opened.store.add(someone, draft(name))
  return { ...opened, path, files, holdDisk: () => holdUp(files, 'datasync') }
}

/** Whether a promise is pending after everything that needs no disk has run. */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending')
  const turn = new Promise((resolve) => setImmediate(() => setImmediate(resolve, pending)))
  return (await Promise.race([promise.catch(() => {}), turn])) === pending
}

describe('a configuration store', () => {
  it('keeps adds, modifications and removals over a restart', async (t) => {
    const { store, close, path } = await heldStore(t, ['a', '__proto__', 'c/%2f? ö'])
    await store.modify(someone, 'a', { port: 2222, hostname: '::1' })
    await store.remove(someone, 'c/%2f? ö')
    const before = store.list(0, 10)
    await close()

    const { store: reopened } = await openStore(t, path, { mustExist: true })
    assert.deepEqual(reopened.list(0, 10), before)
    assert.equal(reopened.find('a')?.port, 2222)
    assert.equal(reopened.find('c/%2f? ö'), undefined)
    assert.deepEqual([reopened.id, reopened.revision, reopened.count], [store.id, 5, 2])
    assert.equal(reopened.jsonBytes, Buffer.byteLength(before.map((record) => record.json).join('')))
  })

  it('accepts the next change as soon as one is answered', async (t) => {
    const { store } = await heldStore(t)
    for (let i = 0; i < 20; i++) await store.add(someone, draft(`host${i}`))
    assert.equal(store.count, 20)
  })

  it('gives rising ids and never reuses one, not even the last after its removal and a restart', async (t) => {
    const { store, close, path } = await heldStore(t, ['a', 'b', 'c'])
    await store.remove(someone, 'c')
    assert.equal((await store.add(someone, draft('d'))).id, 4)
    await store.remove(someone, 'd')
    await close()
    const { store: reopened } = await openStore(t, path)
    assert.equal((await reopened.add(someone, draft('c'))).id, 5)
  })

  it('keeps the id of a renamed record, and allows a rename to the same name', async (t) => {
    const { store } = await heldStore(t, ['a', 'b'])
    assert.equal((await store.modify(someone, 'a', { name: 'z' })).after.id, 1)
    assert.equal((await store.modify(someone, 'z', { name: 'z', port: 23 })).after.port, 23)
    await assert.rejects(store.modify(someone, 'z', { name: 'b' }), (error) => {
      return error instanceof NameTakenError && error.holder === store.find('b')
    })
    await assert.rejects(store.modify(someone, 'a', { port: 1 }), UnknownNameError)
    await assert.rejects(store.remove(someone, 'a'), UnknownNameError)
    assert.equal(store.find('a'), undefined)
  })

  it('writes nothing for a patch that changes nothing', async (t) => {
    const { store, files } = await heldStore(t, ['a'])
    const { revision } = store
    files.calls.length = 0
    const found = store.find('a')
    assert.deepEqual(await store.modify(someone, 'a', { port: 22 }), { before: found, after: found })
    assert.deepEqual(await store.modify(someone, 'a', {}), { before: found, after: found })
    assert.deepEqual([store.revision, files.calls], [revision, []])
  })

  it('can be opened by only one process', async (t) => {
    const { path, close } = await heldStore(t)
    await assert.rejects(openDataFolder(path, undefined, { lockWaitMs: 0 }), FolderInUseError)
    await close()
    assert.deepEqual(await storedNames(t, path), [])
  })

  it('refuses changes above the limit of waiting ones, and completes those it accepted', async (t) => {
    const { store, holdDisk } = await heldStore(t)
    const disk = holdDisk()
    const first = store.add(someone, draft('first'))
    await disk.begun
    const waiting = Array.from({ length: WAITING_CHANGES_MAX }, (_, i) =>
      store.add(someone, draft(`host${i}`)),
    )
    await assert.rejects(store.add(someone, draft('one too many')), OverloadedError)
    disk.release()
    await Promise.all([first, ...waiting])
    assert.equal(store.count, WAITING_CHANGES_MAX + 1)
    await store.add(someone, draft('one too many'))
  })

  it('completes pending changes when it is closed, and accepts no more', async (t) => {
    const { store, path, close } = await heldStore(t)
    const added = store.add(someone, draft('a'))
    const closed = close()
    await assert.rejects(store.add(someone, draft('b')), { code: 'storage_unavailable' })
    await Promise.all([added, closed])
    assert.deepEqual(await storedNames(t, path), ['a'])
  })

  it('leaves no other files than its own', async (t) => {
    const { path, close } = await heldStore(t, ['a'])
    await close()
    assert.deepEqual((await readdir(path)).sort(), ['.lock', 'journal.jsonl'])
  })
})

describe('a pending change', () => {
  it('is not visible until it is durable', async (t) => {
    const { store, holdDisk } = await heldStore(t, ['changed', 'removed'])
    const seen = () => [
      names(store),
      store.find('new')?.id,
      store.find('changed')?.port,
      store.revision,
      store.count,
    ]
    const before = seen()
    const disk = holdDisk()
    const changes = [
      store.add(someone, draft('new')),
      store.modify(someone, 'changed', { port: 23 }),
      store.modify(someone, 'changed', { name: 'renamed' }),
      store.remove(someone, 'removed'),
    ]
    await disk.begun
    assert.deepEqual(seen(), before)
    disk.release()
    await Promise.all(changes)
    assert.deepEqual(names(store), ['renamed', 'new'])
    assert.equal(store.find('renamed')?.port, 23)
  })

  it('shares one datasync with all changes that arrive during the previous one', async (t) => {
    const { store, files, holdDisk } = await heldStore(t)
    const disk = holdDisk()
    const first = store.add(someone, draft('first'))
    await disk.begun
    files.calls.length = 0
    const others = Array.from({ length: 100 }, (_, i) => store.add(someone, draft(`host${i}`)))
    disk.release()
    await Promise.all([first, ...others])
    assert.equal(files.calls.filter((call) => call.startsWith('datasync')).length, 1)
    assert.deepEqual(new Set((await Promise.all(others)).map((record) => record.id)).size, 100)
  })

  interface Race {
    name: string
    existing: string[]
    first: (store: ConfigurationStore) => Promise<unknown>
    second: (store: ConfigurationStore) => Promise<unknown>
    /** The error of the second once the first is durable, and once it is refused. */
    refusedWith: [
      (new (...args: never[]) => Error) | undefined,
      (new (...args: never[]) => Error) | undefined,
    ]
  }
  const addA = (store: ConfigurationStore) => store.add(someone, draft('a'))
  const rename = (store: ConfigurationStore) => store.modify(someone, 'a', { name: 'b' })
  const removeA = (store: ConfigurationStore) => store.remove(someone, 'a')
  const patchSame = (store: ConfigurationStore) => store.modify(someone, 'a', { port: 22 })
  const ifPort22 = (store: ConfigurationStore) =>
    store.modify(someone, 'a', { port: 24 }, ({ port }) => port === 22)
  const toPort23 = (store: ConfigurationStore) => store.modify(someone, 'a', { port: 23 })
  const races: Race[] = [
    {
      name: 'an add of the same name',
      existing: [],
      first: addA,
      second: addA,
      refusedWith: [NameTakenError, undefined],
    },
    {
      name: 'an add of a name that a rename takes',
      existing: ['a'],
      first: rename,
      second: (store) => store.add(someone, draft('b')),
      refusedWith: [NameTakenError, undefined],
    },
    {
      name: 'a removal after a rename',
      existing: ['a'],
      first: rename,
      second: removeA,
      refusedWith: [UnknownNameError, undefined],
    },
    {
      name: 'a removal after a removal',
      existing: ['a'],
      first: removeA,
      second: removeA,
      refusedWith: [UnknownNameError, undefined],
    },
    {
      name: 'a stale expectation',
      existing: ['a'],
      first: toPort23,
      second: ifPort22,
      refusedWith: [StaleRecordError, undefined],
    },
    {
      name: 'a patch of a record that is being removed',
      existing: ['a'],
      first: removeA,
      second: patchSame,
      refusedWith: [UnknownNameError, undefined],
    },
    {
      name: 'a patch that then changes nothing',
      existing: ['a'],
      first: toPort23,
      second: toPort23,
      refusedWith: [undefined, undefined],
    },
  ]
  for (const { name, existing, first, second, refusedWith } of races) {
    for (const [outcome, expected] of [
      ['durable', refusedWith[0]],
      ['refused', refusedWith[1]],
    ] as const) {
      it(`keeps ${name} waiting until it is ${outcome}`, async (t) => {
        const { store, files, holdDisk } = await heldStore(t, existing)
        const disk = outcome === 'durable' ? holdDisk() : holdUp(files, 'write')
        const earlier = first(store)
        await disk.begun
        const later = second(store)
        assert.equal(await isPending(later), true)
        if (outcome === 'durable') disk.release()
        else disk.fail(systemError('ENOSPC'))
        const [, { status, ...result }] = await Promise.allSettled([earlier, later])
        if (expected === undefined) assert.equal(status, 'fulfilled')
        else assert.ok('reason' in result && result.reason instanceof expected, JSON.stringify(result))
      })
    }
  }

  it('delays a refusal until the changes that were decided with it are durable', async (t) => {
    const { store, holdDisk } = await heldStore(t, ['a'])
    const first = holdDisk()
    const modified = store.modify(someone, 'a', { port: 1 })
    await first.begun
    const taken = assert.rejects(store.add(someone, draft('a')), NameTakenError)
    const unchanged = store.modify(someone, 'a', { port: 1 })
    const later = store.modify(someone, 'a', { port: 2 })
    const second = holdDisk()
    first.release()
    await modified
    await second.begun
    assert.deepEqual(await Promise.all([isPending(taken), isPending(unchanged)]), [true, true])
    second.release()
    await Promise.all([taken, unchanged, later])
  })

  it('takes those with it that were decided with it, and none that come later, if the disk refuses it', async (t) => {
    const { store, files, holdDisk } = await heldStore(t, ['a'])
    const first = holdDisk()
    const modified = store.modify(someone, 'a', { port: 1 })
    await first.begun
    const refused = Promise.allSettled([
      store.modify(someone, 'a', { port: 2 }),
      store.add(someone, draft('a')),
      store.modify(someone, 'a', { port: 1 }),
      store.remove(someone, 'unknown'),
    ])
    const second = holdUp(files, 'write')
    first.release()
    await modified
    await second.begun
    const later = store.modify(someone, 'a', { port: 3 }, ({ port }) => port === 1)
    second.fail(systemError('ENOSPC'))
    for (const outcome of await refused)
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof StorageFullError)
    assert.equal((await later).after.port, 3)
  })

  it('is considered by the next change even after an earlier change of the same name is durable', async (t) => {
    const { store, holdDisk } = await heldStore(t)
    const first = holdDisk()
    const added = store.add(someone, draft('a'))
    await first.begun
    const second = holdDisk()
    const removed = store.remove(someone, 'a')
    first.release()
    await Promise.all([added, second.begun])
    const addedAgain = store.add(someone, draft('a'))
    second.release()
    await removed
    assert.equal((await addedAgain).id, 2)
  })

  it('frees and takes names for the changes after it', async (t) => {
    const { store, path, close, holdDisk } = await heldStore(t, ['a', 'gone'])
    const disk = holdDisk()
    const first = store.add(someone, draft('first'))
    await disk.begun
    const changes = [
      store.modify(someone, 'a', { name: 'b' }),
      store.add(someone, draft('a')),
      store.modify(someone, 'b', { name: 'c' }),
      store.modify(someone, 'a', { name: 'b' }),
      store.remove(someone, 'gone'),
      store.add(someone, draft('gone', { port: 99 })),
      store.modify(someone, 'c', { port: 7 }, (record) => record.name === 'c'),
    ]
    disk.release()
    await Promise.all([first, ...changes])
    const expected = [
      ['c', 1, 7],
      ['first', 3, 22],
      ['b', 4, 22],
      ['gone', 5, 99],
    ]
    const seen = (from: ConfigurationStore) => from.list(0, 9).map(({ name, id, port }) => [name, id, port])
    assert.deepEqual(seen(store), expected)
    await close()
    assert.deepEqual(seen((await openStore(t, path)).store), expected)
  })
})

describe('a listener to durable changes', () => {
  it('is notified of each once, in order, when the change is readable and before its caller is answered', async (t) => {
    const { store, holdDisk } = await heldStore(t, ['before'])
    const heard: unknown[] = []
    store.onDurable((change, revision) => {
      assert.equal(store.revision, revision)
      if ('add' in change) heard.push([revision, 'add', store.find(change.add.name)?.id])
      else if ('modify' in change) heard.push([revision, change.name, change.modify.name])
      else heard.push([revision, 'remove', change.remove, store.find(change.remove)])
    })
    const disk = holdDisk()
    const added = store.add(someone, draft('a')).then(() => heard.push('a was added'))
    await disk.begun
    const changes = [store.modify(someone, 'a', { name: 'b' }), store.remove(someone, 'before')]
    assert.deepEqual(heard, [])
    disk.release()
    await Promise.all([added, ...changes])
    await store.importAll(someone, [draft('c'), draft('b', { port: 1 })], 'merge')
    assert.deepEqual(heard, [
      [2, 'add', 2],
      'a was added',
      [3, 'a', 'b'],
      [4, 'remove', 'before', undefined],
      [5, 'b', 'b'],
      [6, 'add', 3],
    ])
  })

  it('is not notified of refused changes, or of any after it has ended', async (t) => {
    const { store, files } = await heldStore(t, ['a'])
    const heard: string[] = []
    const hear = (whose: string) => store.onDurable((_, revision) => void heard.push(`${whose} ${revision}`))
    const endFirst = hear('first')
    hear('second')
    files.before = (operation) => {
      if (operation === 'write') throw systemError('ENOSPC')
    }
    await assert.rejects(store.add(someone, draft('refused')))
    files.before = () => {}
    await store.add(someone, draft('b'))
    endFirst()
    await store.add(someone, draft('c'))
    assert.deepEqual(heard, ['first 2', 'second 2', 'second 3'])
  })
})
