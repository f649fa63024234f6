import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { OverloadedError, StorageFullError, StorageUnavailableError } from '../../src/errors.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { WAITING_CHANGES_MAX } from '../../src/limits.ts'
import { Scheduler } from '../../src/scheduler.ts'
import type { Configuration } from '../../src/store/configuration.ts'
import { SORTED_AT_ONCE_RECORDS_MAX } from '../../src/store/configuration-index.ts'
import type { ConfigurationStore } from '../../src/store/configuration-store.ts'
import { listTag } from '../../src/store/list-tag.ts'
import { NameTakenError, StaleListError } from '../../src/store/refusals.ts'
import { until } from '../support/eventually.ts'
import { createFailingFiles, holdUp, systemError } from '../support/failing-files.ts'
import { draft, names, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** More than are sorted at once, or changed at once. */
const MANY = SORTED_AT_ONCE_RECORDS_MAX + 1_500

const drafts = (prefix: string, count = MANY) =>
  Array.from({ length: count }, (_, i) => draft(`${prefix}${i}`))
const namesOf = (records: readonly { readonly name: string }[]) => records.map(({ name }) => name)

async function openWith(t: TestContext, ...stored: string[]) {
  const folder = await temporaryFolder(t)
  const files = createFailingFiles()
  const opened = await openStore(t, folder, { files })
  for (const name of stored) await opened.store.add(someone, draft(name))
  return { ...opened, folder, files }
}

/** Long work gives way after each step. */
async function openFilled(t: TestContext) {
  const folder = await temporaryFolder(t)
  const opened = await openStore(t, folder, { scheduler: new Scheduler(0) })
  await opened.store.importAll(someone, drafts('old'), 'merge')
  for (const sort of ['name', '-port'] as const) await opened.store.order(sort)
  return { ...opened, folder }
}

/** Frames that the disk has synced. */
function framesOf(store: ConfigurationStore): number {
  const family = store.storageMetrics.find(({ name }) => name === 'connbook_journal_frames_total')
  return Number([...(family?.samples() ?? [])][0]?.value)
}

describe('a large import', () => {
  it('shows the state before until it shows as a whole, in every order', async (t) => {
    const { store } = await openFilled(t)
    const before = { revision: store.revision, frames: framesOf(store) }
    const listened: [number, string | undefined][] = []
    store.onDurable((_, revision, old) => {
      listened.push([revision, old?.name])
      assert.equal(store.revision, before.revision + 2 * MANY)
    })
    let isDone = false
    const importing = store.importAll(someone, drafts('new'), 'replace').finally(() => {
      isDone = true
    })
    let turnsBetween = 0
    while (!isDone) {
      const isNew = store.revision !== before.revision
      if (!isNew && framesOf(store) > before.frames) turnsBetween += 1
      const prefix = isNew ? 'new' : 'old'
      assert.equal(store.count, MANY)
      for (const sort of [undefined, 'name', '-port'] as const)
        assert.match(store.list(MANY - 1, 1, sort)[0]?.name ?? '', new RegExp(`^${prefix}`))
      assert.equal(store.find(`${prefix}7`)?.name, `${prefix}7`)
      assert.equal(store.find(`${isNew ? 'old' : 'new'}7`), undefined)
      await nextTurn()
    }
    const { added, removed } = await importing
    assert.deepEqual([added.length, removed.length], [MANY, MANY])
    assert.ok(turnsBetween > 0, 'it was applied at once')
    assert.deepEqual(
      listened.map(([revision]) => revision),
      Array.from({ length: 2 * MANY }, (_, i) => before.revision + 1 + i),
    )
    assert.deepEqual(
      listened.map(([, old]) => old),
      [...namesOf(removed), ...added.map(() => undefined)],
    )
  })

  it('is there after a kill between the sync and the moment when it shows', async (t) => {
    const { store, folder } = await openFilled(t)
    const frames = framesOf(store)
    const importing = store.importAll(someone, drafts('new'), 'replace')
    while (framesOf(store) === frames) await nextTurn()
    assert.equal(store.find('new0'), undefined)
    const copy = join(await temporaryFolder(t), 'copy')
    await cp(join(folder, dataFiles.journal), join(copy, dataFiles.journal))
    const killed = await openStore(t, copy)
    assert.deepEqual(names(killed.store), namesOf(drafts('new')))
    await importing
    assert.deepEqual(names(store), names(killed.store))
  })

  it('lets those behind it wait, in their order', async (t) => {
    const { store, files } = await openWith(t, 'a')
    const held = holdUp(files, 'write', dataFiles.journal)
    const order: string[] = []
    const note = async (what: string, promise: Promise<unknown>) => {
      await promise
      order.push(what)
    }
    const importing = note(
      'import',
      store.importAll(someone, [draft('b'), draft('c'), draft('d')], 'replace'),
    )
    await held.begun
    const all = [
      note('remove', store.remove(someone, 'd')),
      note('taken', store.add(someone, draft('c'))),
      note('modify', store.modify(someone, 'c', { name: 'g' })),
      note('second import', store.importAll(someone, [draft('e'), draft('f')], 'merge')),
    ]
    held.release()
    const [, taken] = await Promise.allSettled(all)
    await importing
    assert.deepEqual(order, ['import', 'remove', 'modify', 'second import'])
    assert.ok(taken?.status === 'rejected' && taken.reason instanceof NameTakenError)
    assert.deepEqual(
      store.list(0, 9).map(({ id, name }) => [id, name]),
      [
        [2, 'b'],
        [3, 'g'],
        [5, 'e'],
        [6, 'f'],
      ],
    )
  })

  it('is planned as soon as a change before it has been refused', async (t) => {
    const { store, files } = await openWith(t, 'a')
    const held = holdUp(files, 'write', dataFiles.journal)
    const adding = store.add(someone, draft('b'))
    await held.begun
    const importing = store.importAll(someone, [draft('b'), draft('c')], 'merge')
    held.fail(systemError('ENOSPC'))
    await assert.rejects(adding, StorageFullError)
    assert.deepEqual(namesOf((await importing).added), ['b', 'c'])
    assert.deepEqual(names(store), ['a', 'b', 'c'])
  })

  it('is refused if the records are not those that are expected once the changes before it are made', async (t) => {
    const { store, files } = await openWith(t, 'a')
    const two = [draft('b'), draft('c')]
    const held = holdUp(files, 'write', dataFiles.journal)
    const adding = store.add(someone, draft('d'))
    await held.begun
    const importing = store.importAll(someone, two, 'replace', (tag) => tag === listTag(store.id, 1))
    held.release()
    await assert.rejects(importing, StaleListError)
    await adding
    assert.deepEqual(names(store), ['a', 'd'])
    const asked: string[] = []
    const before = store.tag
    const { tag } = await store.importAll(someone, two, 'replace', (found) => asked.push(found) > 0)
    assert.deepEqual([asked, tag, store.revision], [[before, before], listTag(store.id, 6), 6])
    const next = store.importAll(someone, [draft('e')], 'merge', (found) => found === tag)
    assert.equal((await next).tag, listTag(store.id, 7))
  })

  it('changes nothing when the disk is full, and the changes behind it go on', async (t) => {
    const { store, files, folder, close } = await openWith(t, 'a')
    const held = holdUp(files, 'write', dataFiles.journal)
    const importing = store.importAll(someone, [draft('b'), draft('c')], 'replace')
    await held.begun
    const adding = store.add(someone, draft('b'))
    held.fail(systemError('ENOSPC'))
    await assert.rejects(importing, StorageFullError)
    await adding
    assert.deepEqual(names(store), ['a', 'b'])
    await close()
    assert.deepEqual(names((await openStore(t, folder)).store), ['a', 'b'])
  })

  it('is refused when the disk fails, and while it has failed', async (t) => {
    const { store, files } = await openWith(t, 'a')
    files.before = (operation) => {
      if (operation === 'datasync' || operation === 'sync') throw systemError('EIO')
    }
    const two = [draft('b'), draft('c')]
    await assert.rejects(store.importAll(someone, two, 'replace'), StorageUnavailableError)
    await assert.rejects(store.importAll(someone, two, 'replace'), StorageUnavailableError)
    assert.deepEqual(names(store), ['a'])
    files.before = () => {}
    await until(() => store.isWritable)
    await store.importAll(someone, two, 'replace')
    assert.deepEqual(names(store), ['b', 'c'])
  })

  it('that changes nothing writes nothing, and one that changes little is a change like others', async (t) => {
    const { store, files } = await openWith(t, 'a', 'b', 'c')
    files.calls.length = 0
    const same = [draft('a'), draft('b'), draft('c')]
    assert.equal((await store.importAll(someone, same, 'replace')).unchanged, 3)
    assert.deepEqual(files.calls, [])
    await store.importAll(someone, [draft('a', { port: 1 }), draft('b'), draft('c')], 'replace')
    assert.equal(store.find('a')?.port, 1)
  })

  it('is completed by the close of the store, with the changes behind it, and none that come later', async (t) => {
    const { store, files, folder, close } = await openWith(t, 'a')
    const held = holdUp(files, 'write', dataFiles.journal)
    const importing = store.importAll(someone, [draft('b'), draft('c')], 'replace')
    await held.begun
    const before = store.add(someone, draft('d'))
    const closed = close()
    const later = [
      store.add(someone, draft('e')),
      store.modify(someone, 'a', { port: 1 }),
      store.put(someone, draft('e')),
      store.remove(someone, 'a'),
      store.importAll(someone, [draft('e'), draft('f')], 'merge'),
    ]
    for (const change of later) await assert.rejects(change, StorageUnavailableError)
    held.release()
    await Promise.all([importing, before, closed])
    assert.deepEqual(names((await openStore(t, folder)).store), ['b', 'c', 'd'])
  })

  it('is completed by the close of the store while it is still planned', async (t) => {
    const { store, folder, close } = await openFilled(t)
    const { count } = store
    const importing = store.importAll(someone, drafts('new'), 'merge')
    await nextTurn()
    await Promise.all([close(), importing])
    assert.equal((await openStore(t, folder)).store.count, count + MANY)
  })

  it('lets no more changes wait than may wait for the disk', async (t) => {
    const { store, files } = await openWith(t)
    const held = holdUp(files, 'write', dataFiles.journal)
    const importing = store.importAll(someone, [draft('b'), draft('c')], 'replace')
    await held.begun
    const adding = drafts('n', WAITING_CHANGES_MAX + 1).map((one) => store.add(someone, one))
    await assert.rejects(adding.at(-1) ?? assert.fail(), OverloadedError)
    held.release()
    await Promise.all([importing, ...adding.slice(0, -1)])
    assert.equal(store.count, 2 + WAITING_CHANGES_MAX)
  })
})

describe('a change that waits for a large import', () => {
  /** A large import under way, and somebody who asks for a change meanwhile. */
  async function setUp(t: TestContext) {
    const { store, files } = await openWith(t, 'a')
    const held = holdUp(files, 'write', dataFiles.journal)
    const importing = store.importAll(someone, [draft('b'), draft('c')], 'replace')
    await held.begun
    const client = new AbortController()
    return { store, held, importing, client, asker: { signal: client.signal } }
  }

  it('is not made if its client goes, and leaves room for another', async (t) => {
    const { store, held, importing, client, asker } = await setUp(t)
    const clients = drafts('n', WAITING_CHANGES_MAX).map((one) => ({ one, client: new AbortController() }))
    const left = clients.map(({ one, client }) => store.add(someone, one, { signal: client.signal }))
    const gone = new Error('gone')
    for (const each of [client, ...clients.map(({ client }) => client)]) each.abort(gone)
    // All places are taken until somebody needs one.
    const added = store.add(someone, draft('d'))
    for (const each of await Promise.allSettled(left))
      assert.deepEqual(each, { status: 'rejected', reason: gone })
    const removed = assert.rejects(store.remove(someone, 'b', undefined, asker), gone)
    held.release()
    await Promise.all([importing, added, removed])
    assert.deepEqual(names(store), ['b', 'c', 'd'])
  })

  it('is not made if it is no longer allowed', async (t) => {
    const { store, held, importing, asker } = await setUp(t)
    const ended = new Error('the credential has ended')
    const refuse = () => {
      throw ended
    }
    const checks = [refuse, () => assert.fail('thrown'), () => {}]
    const asked = checks.map((checkAgain) => ({ ...asker, checkAgain }))
    const changes = [
      store.add(someone, draft('d'), asked[0]),
      store.modify(someone, 'b', { port: 1 }, undefined, asked[1]),
      store.importAll(someone, [draft('e'), draft('f')], 'merge', undefined, asked[2]),
      store.importAll(someone, [draft('g'), draft('h')], 'merge', undefined, asked[0]),
    ]
    const settled = Promise.allSettled(changes)
    held.release()
    await importing
    const outcomes = await settled
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['rejected', 'rejected', 'fulfilled', 'rejected'],
    )
    assert.deepEqual(names(store), ['b', 'c', 'e', 'f'])
    assert.equal(store.find('b')?.port, 22)
  })
})

describe('an order of many records', () => {
  it('is made once for all who wait for it, with the changes that come meanwhile', async (t) => {
    const { store } = await openFilled(t)
    assert.equal(store.isOrdered('hostname'), false)
    const both = [store.order('hostname'), store.order('hostname')]
    assert.equal(both[0], both[1])
    let isDone = false
    const waiting = Promise.all(both).then(() => {
      isDone = true
    })
    const changed: Configuration[] = []
    for (let i = 0; !isDone; i++) {
      changed.push(await store.add(someone, draft(`late${i}`, { hostname: `a${i}` })))
    }
    await waiting
    assert.equal(store.isOrdered('hostname'), true)
    const expected = changed.toSorted((a, b) => (a.hostname < b.hostname ? -1 : 1))
    assert.deepEqual(namesOf(store.list(0, changed.length, 'hostname')), namesOf(expected))
  })
})
