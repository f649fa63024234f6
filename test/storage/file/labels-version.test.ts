import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { isObject } from '../../../src/json.ts'
import { until } from '../../support/eventually.ts'
import { createFailingFiles, failOn, holdUp, systemError } from '../../support/failing-files.ts'
import { draft, openStore, someone } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const labels = { env: 'prod' }

/** The versions in the headers of the files; undefined for one that is not there. */
async function versionsIn(folder: string) {
  const first = async (name: string) => {
    const text = await readFile(join(folder, name), 'utf8').catch(() => undefined)
    return text?.slice(0, text.indexOf('\n'))
  }
  const number = (text: string | undefined) => {
    const found = /"(?:journal|version)":(\d+)/.exec(text ?? '')?.[1]
    return found === undefined ? undefined : Number(found)
  }
  return {
    journal: number(await first('journal.jsonl')),
    old: number(await first('journal.old.jsonl')),
    snapshot: number(await first('snapshot.json')),
  }
}

async function openFolder(t: TestContext, options: Parameters<typeof openStore>[2] = {}) {
  const folder = await temporaryFolder(t)
  const opened = await openStore(t, folder, options)
  return { folder, ...opened, add: (name: string, more = {}) => opened.store.add(someone, draft(name, more)) }
}

/** What another start finds. */
async function reopened(t: TestContext, folder: string) {
  const { store, close } = await openStore(t, folder, { mustExist: true })
  const found = store.list(0, store.count).map(({ json }) => json)
  const { hasLabels, jsonBytes } = store
  await close()
  assert.equal(jsonBytes, Buffer.byteLength(found.join('')))
  return { found, hasLabels }
}

describe('a folder with labels', () => {
  it('has the versions of before until the first label', async (t) => {
    const { folder, add, close } = await openFolder(t, { snapshotBytesMin: 1 })
    await add('a')
    await add('b')
    await close()
    const { journal, snapshot } = await versionsIn(folder)
    assert.deepEqual([journal, snapshot], [2, 1])
    assert.equal((await reopened(t, folder)).hasLabels, false)
  })

  it('has a journal of the new version before the first label is in it', async (t) => {
    const { folder, store, add, close } = await openFolder(t)
    await add('a')
    assert.deepEqual(await versionsIn(folder), { journal: 2, old: undefined, snapshot: undefined })
    await store.modify(someone, 'a', { labelsPatch: labels })
    assert.equal((await versionsIn(folder)).journal, 3)
    await until(() => store.hasLabels)
    await close()
    assert.deepEqual(await versionsIn(folder), { journal: 3, old: undefined, snapshot: 2 })
    assert.deepEqual(await reopened(t, folder), {
      found: [
        '{"id":1,"name":"a","hostname":"host.example","port":22,"username":"ops","labels":{"env":"prod"}}',
      ],
      hasLabels: true,
    })
  })

  for (const [what, updatesAtOnceMax] of [
    ['a short import', 1_000],
    ['a large one', 1],
  ] as const) {
    it(`has it before the frame of ${what}`, async (t) => {
      const { folder, store, add, close } = await openFolder(t, { updatesAtOnceMax })
      await add('a')
      const drafts = ['b', 'c', 'd'].map((name) => draft(name, name === 'c' ? { labels } : {}))
      await store.importAll(someone, drafts, 'merge')
      assert.equal(store.hasLabels, true)
      await close()
      assert.equal((await versionsIn(folder)).journal, 3)
      const { found } = await reopened(t, folder)
      assert.deepEqual(
        found.map((json) => json.includes('"labels"')),
        [false, false, true, false],
      )
    })
  }

  it('waits for a compaction that is under way, and keeps each journal until a snapshot has its changes', async (t) => {
    const files = createFailingFiles()
    const snapshot = holdUp(files, 'write', 'snapshot.json')
    const { folder, add, close } = await openFolder(t, { files, snapshotBytesMin: 1 })
    await add('a')
    await snapshot.begun
    const labelled = add('b', { labels })
    const behind = add('c')
    snapshot.release()
    await Promise.all([labelled, behind])
    await close()
    assert.equal((await versionsIn(folder)).journal, 3)
    const { found } = await reopened(t, folder)
    assert.equal(found.length, 3)
  })

  it('is again one of before when no record has labels and the journal begins anew', async (t) => {
    const { folder, store, add, close } = await openFolder(t, { snapshotBytesMin: 1 })
    await add('a', { labels })
    await store.modify(someone, 'a', { labels: {} })
    await close()
    const next = await openStore(t, folder, { mustExist: true, snapshotBytesMin: 1 })
    for (const name of ['b', 'c', 'd']) {
      await next.store.add(someone, draft(name))
      await until(() => next.log.events.includes('snapshot_written'))
    }
    await next.close()
    const { journal, snapshot } = await versionsIn(folder)
    assert.deepEqual([journal, snapshot], [2, 1])
    assert.equal((await reopened(t, folder)).found.length, 4)
  })

  it('refuses a label when the new journal has no room, and takes it when there is', async (t) => {
    const files = createFailingFiles()
    const { folder, add, close } = await openFolder(t, { files })
    await add('a')
    let isFull = true
    files.before = (operation, path) => {
      if (isFull && operation === 'write' && path.includes('journal')) throw systemError('ENOSPC')
    }
    await assert.rejects(add('b', { labels }), { code: 'storage_full' })
    assert.equal((await versionsIn(folder)).journal, 2)
    isFull = false
    await add('b', { labels })
    await close()
    assert.equal((await reopened(t, folder)).found.length, 2)
  })

  it('recovers with labels after the disk failed', async (t) => {
    const files = createFailingFiles()
    const { folder, store, add, close } = await openFolder(t, { files })
    await add('a', { labels })
    failOn(files, 'datasync', 'journal.jsonl', 'EIO')
    await assert.rejects(add('b', { labels }), { code: 'storage_unavailable' })
    files.before = () => {}
    await until(() => store.isWritable)
    await add('c', { labels })
    await close()
    const versions = await versionsIn(folder)
    assert.deepEqual([versions.journal, versions.snapshot], [3, 2])
    const { found } = await reopened(t, folder)
    assert.ok(found.every((json) => isObject(JSON.parse(json).labels)))
  })
})
