import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { encodeJournalStart } from '../../../src/journal/journal-file.ts'
import { CHANGE_VERSION } from '../../../src/store/change.ts'
import { OVERTAKEN_MS_MAX } from '../../../src/store/writer.ts'
import { until } from '../../support/eventually.ts'
import { createFailingFiles, type FailingFiles, failOn, holdUp } from '../../support/failing-files.ts'
import { draft, names, openStore, someone } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const by = { actor: { command: 'set', by: 'root' }, time: '2026-01-02T03:04:05.678Z' }
/** What each older form can say that the one before could not. */
const firstChanges: Readonly<Record<number, object>> = {
  1: {},
  2: by,
  3: { ...by, add: { id: 1, ...draft('a'), labels: { env: 'prod' } } },
}

function journalOf(version: number, after = 0, changes: readonly object[] = []): Buffer {
  return encodeJournalStart({ store: 'old', after, version }, changes).bytes
}

/** A folder with a journal of an older form, and the record "a" in it. */
async function olderFolder(t: TestContext, version = 1) {
  const folder = await temporaryFolder(t)
  const old = journalOf(version, 0, [{ add: { id: 1, ...draft('a') }, ...firstChanges[version] }])
  await writeFile(join(folder, 'journal.jsonl'), old)
  return {
    folder,
    old,
    journal: () => readFile(join(folder, 'journal.jsonl')),
    open: (files?: FailingFiles) => openStore(t, folder, files === undefined ? {} : { files }),
  }
}

async function storedNames(t: TestContext, folder: string): Promise<string[]> {
  const { store, close } = await openStore(t, folder)
  const found = names(store)
  await close()
  return found
}

describe('a journal of an older form', () => {
  for (const version of Object.keys(firstChanges).map(Number)) {
    it(`of version ${version} stays as it is until the first change, which begins one of the newest`, async (t) => {
      const { folder, old, journal, open } = await olderFolder(t, version)
      await (await open()).close()
      assert.deepEqual(await journal(), old)
      const { store, log, close } = await open()
      await Promise.all([store.add(someone, draft('b')), store.add(someone, draft('c'))])
      await until(() => log.events.includes('snapshot_written'))
      await close()
      const [first = '', second = ''] = (await journal()).toString().split('\n')
      assert.ok(first.endsWith(`[{"journal":${CHANGE_VERSION},"store":"old"}]`), first)
      assert.match(second, /^[0-9a-f]{8} \d+ 2 \[\{"add":\{"id":2,.*"actor":\{/)
      assert.deepEqual((await readdir(folder)).sort(), ['.lock', 'journal.jsonl', 'snapshot.json'])
      assert.match(await readFile(join(folder, 'snapshot.json'), 'utf8'), /^\{[^\n]*"version":2,/)
      assert.deepEqual(await storedNames(t, folder), ['a', 'b', 'c'])
    })
  }

  it('refuses changes while no new one can begin, and takes them when there is room', async (t) => {
    const { old, journal, open } = await olderFolder(t)
    const files = createFailingFiles()
    const { store } = await open(files)
    failOn(files, 'open', '.journal.jsonl', 'ENOSPC')
    await assert.rejects(store.add(someone, draft('b')), { code: 'storage_full' })
    assert.deepEqual(await journal(), old)
    await store.add(someone, draft('b'))
    assert.deepEqual(names(store), ['a', 'b'])
  })

  it('takes changes again after the snapshot that had to come first has failed', async (t) => {
    const { folder, old, open } = await olderFolder(t)
    await writeFile(join(folder, 'journal.old.jsonl'), old)
    await writeFile(join(folder, 'journal.jsonl'), journalOf(1, 1))
    const files = createFailingFiles()
    failOn(files, 'open', '.snapshot.json', 'ENOSPC', 2)
    const { store, log } = await open(files)
    await until(() => log.events.includes('snapshot_failed'))
    await assert.rejects(store.add(someone, draft('b')), { code: 'storage_full' })
    await store.add(someone, draft('b'))
    assert.deepEqual(names(store), ['a', 'b'])
  })

  it('waits for the end of a compaction that a crash interrupted', async (t) => {
    const { folder, old, open } = await olderFolder(t)
    await writeFile(join(folder, 'journal.old.jsonl'), old)
    const change = { modify: { id: 1, ...draft('a', { port: 23 }) }, name: 'a' }
    await writeFile(join(folder, 'journal.jsonl'), journalOf(1, 1, [change]))
    const { store, close } = await open()
    await store.add(someone, draft('b'))
    await close()
    const { store: again } = await open()
    assert.deepEqual([names(again), again.find('a')?.port], [['a', 'b'], 23])
  })

  it('takes its first change however long that compaction takes', async (t) => {
    const { folder, old, open } = await olderFolder(t)
    await writeFile(join(folder, 'journal.old.jsonl'), old)
    await writeFile(join(folder, 'journal.jsonl'), journalOf(1, 1))
    const files = createFailingFiles()
    const snapshot = holdUp(files, 'rename', 'snapshot.json')
    const { store } = await open(files)
    await snapshot.begun
    const adding = store.add(someone, draft('b'))
    const nowMs = performance.now()
    t.mock.method(performance, 'now', () => nowMs + OVERTAKEN_MS_MAX)
    snapshot.release()
    await adding
    assert.deepEqual(names(store), ['a', 'b'])
  })

  it('is whole after a kill at any system call of the change that replaces it', async (t) => {
    const root = await temporaryFolder(t)
    const images: { readonly at: string; readonly image: string }[] = []
    const { folder, open } = await olderFolder(t)
    const files = createFailingFiles()
    const { store, log, close } = await open(files)
    let isAcknowledged = false
    const acknowledgedAt: boolean[] = []
    files.before = (operation, path) => {
      if (!['open', 'write', 'sync', 'datasync', 'rename', 'unlink'].includes(operation)) return
      const image = join(root, String(images.length))
      images.push({ at: `${operation} ${basename(path)}`, image })
      acknowledgedAt.push(isAcknowledged)
      cpSync(folder, image, { recursive: true, filter: (source) => !source.endsWith('.lock') })
    }
    await store.add(someone, draft('b'))
    isAcknowledged = true
    await until(() => log.events.includes('snapshot_written'))
    files.before = () => {}
    await close()
    for (const [i, { at, image }] of images.entries()) {
      const found = await storedNames(t, image)
      assert.deepEqual(found.slice(0, acknowledgedAt[i] ? 2 : 1), acknowledgedAt[i] ? ['a', 'b'] : ['a'], at)
    }
    const calls = images.map(({ at }) => at)
    for (const call of ['rename journal.old.jsonl', 'rename journal.jsonl', 'rename snapshot.json'])
      assert.ok(calls.includes(call), `${call}: ${calls.join(', ')}`)
  })
})
