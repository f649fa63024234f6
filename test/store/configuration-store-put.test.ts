import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { StaleRecordError } from '../../src/store/refusals.ts'
import { createFailingFiles, holdUp } from '../support/failing-files.ts'
import { draft, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function heldStore(t: TestContext) {
  const path = await temporaryFolder(t)
  const files = createFailingFiles()
  const opened = await openStore(t, path, { files })
  return { ...opened, path, files, holdDisk: () => holdUp(files, 'datasync') }
}

const absent = (record: unknown) => record === undefined

describe('put, of a configuration store', () => {
  it('keeps what it added and replaced over a restart', async (t) => {
    const { store, close, path } = await heldStore(t)
    const added = await store.put(someone, draft('a'))
    assert.equal(added.before, undefined)
    const replaced = await store.put(someone, draft('a', { port: 1 }))
    assert.deepEqual(
      [replaced.before, replaced.after.id, replaced.after.port],
      [added.after, added.after.id, 1],
    )
    await close()
    const { store: reopened } = await openStore(t, path, { mustExist: true })
    assert.deepEqual(reopened.list(0, 10), [replaced.after])
    assert.equal(reopened.revision, 2)
  })

  it('writes nothing for what is there', async (t) => {
    const { store, files } = await heldStore(t)
    const { after } = await store.put(someone, draft('a'))
    files.calls.length = 0
    assert.deepEqual(await store.put(someone, draft('a')), { before: after, after })
    assert.deepEqual(files.calls, [])
    assert.equal(store.revision, 1)
  })

  it('writes nothing for the labels that are there, and without labels removes them for good', async (t) => {
    const { store, files, close, path } = await heldStore(t)
    const { after } = await store.put(someone, draft('a', { labels: { b: '1', a: '' } }))
    files.calls.length = 0
    const same = await store.put(someone, draft('a', { labels: { a: '', b: '1' } }))
    assert.deepEqual(same, { before: after, after })
    assert.deepEqual(files.calls, [])
    const without = await store.put(someone, draft('a'))
    assert.equal(without.after.labels, undefined)
    await close()
    const { store: reopened } = await openStore(t, path, { mustExist: true })
    assert.deepEqual(reopened.list(0, 10), [without.after])
    assert.equal(reopened.revision, 2)
  })

  it('sees a record that is not durable yet, and waits for it', async (t) => {
    const { store, holdDisk } = await heldStore(t)
    const disk = holdDisk()
    const first = store.put(someone, draft('a'))
    const second = store.put(someone, draft('a', { port: 1 }))
    const same = store.put(someone, draft('a', { port: 1 }))
    const refused = store.put(someone, draft('a'), absent)
    await disk.begun
    assert.equal(store.find('a'), undefined)
    disk.release()
    await assert.rejects(refused, StaleRecordError)
    assert.equal((await first).before, undefined)
    assert.equal((await second).before, (await first).after)
    assert.equal((await same).after, (await second).after)
    assert.deepEqual([store.count, store.revision], [1, 2])
  })

  it('adds again after a removal that is not durable yet', async (t) => {
    const { store } = await heldStore(t)
    const { after } = await store.put(someone, draft('a'))
    const removed = store.remove(someone, 'a')
    const again = store.put(someone, draft('a'), absent)
    await removed
    assert.equal((await again).after.id, after.id + 1)
  })

  it('refuses what is not expected, and says whether a record is there', async (t) => {
    const { store } = await heldStore(t)
    await assert.rejects(
      store.put(someone, draft('a'), (record) => record !== undefined),
      {
        code: 'stale_record',
        message: 'There is no configuration named "a", but one is expected',
      },
    )
    await store.put(someone, draft('a'))
    await assert.rejects(store.put(someone, draft('a'), absent), {
      code: 'stale_record',
      message: 'The configuration "a" is not the one expected; read it',
    })
    assert.equal(store.revision, 1)
  })
})
