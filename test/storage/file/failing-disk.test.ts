import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { StorageFullError, StorageUnavailableError } from '../../../src/errors.ts'
import { RECOVERY_PAUSE_MS_MIN } from '../../../src/journal/recovery-loop.ts'
import { until } from '../../support/eventually.ts'
import { createFailingFiles, failOn, holdUp, systemError } from '../../support/failing-files.ts'
import { holdTimers } from '../../support/held-timers.ts'
import { draft, names, openStore, someone, storedNames } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** A store with one record, on a disk that the test makes fail. */
async function failingStore(t: TestContext) {
  const folder = await temporaryFolder(t)
  const files = createFailingFiles()
  const opened = await openStore(t, folder, { files })
  await opened.store.add(someone, draft('kept'))
  const journalPath = join(folder, 'journal.jsonl')
  return { ...opened, folder, files, journalPath, readJournal: () => readFile(journalPath, 'utf8') }
}

describe('a full disk', () => {
  for (const code of ['ENOSPC', 'EDQUOT', 'EFBIG']) {
    it(`(${code}) makes the store refuse the change, leave no part of it, and accept the next`, async (t) => {
      const { store, files, folder, log, readJournal, close } = await failingStore(t)
      const before = await readJournal()
      files.writeBytesMax = 10
      let writes = 0
      files.before = (operation) => {
        if (operation === 'write' && ++writes > 3) throw systemError(code)
      }
      await assert.rejects(store.add(someone, draft('refused')), StorageFullError)
      assert.equal(writes, 4)
      assert.equal(await readJournal(), before)
      assert.deepEqual([names(store), store.isWritable], [['kept'], true])
      await assert.rejects(store.remove(someone, 'kept'), StorageFullError)

      files.before = () => {}
      await store.add(someone, draft('refused'))
      assert.deepEqual(log.events, ['changes_refused', 'changes_accepted_again'])
      await close()
      assert.deepEqual(await storedNames(t, folder), ['kept', 'refused'])
    })
  }

  it('has the changes behind it decided without the refused one', async (t) => {
    const { store, files } = await failingStore(t)
    const write = holdUp(files, 'write')
    const first = store.modify(someone, 'kept', { name: 'other' })
    await write.begun
    const behind = store.add(someone, draft('kept'))
    write.fail(systemError('ENOSPC'))
    await assert.rejects(first, StorageFullError)
    await assert.rejects(behind, { code: 'name_taken' })
    assert.deepEqual(names(store), ['kept'])
  })

  it('counts as a failed disk when the change cannot be cut off', async (t) => {
    const { store, files, folder, close } = await failingStore(t)
    files.writeBytesMax = 10
    let writes = 0
    files.before = (operation, path) => {
      if (path.endsWith('/journal.jsonl') && operation === 'write' && ++writes > 1)
        throw systemError('ENOSPC')
      if (operation === 'truncate') throw systemError('EIO')
    }
    await assert.rejects(store.add(someone, draft('refused')), StorageUnavailableError)
    files.before = () => {}
    await until(() => store.isWritable)
    await store.add(someone, draft('later'))
    await close()
    assert.deepEqual(await storedNames(t, folder), ['kept', 'later'])
  })
})

describe('a disk that writes less than asked', () => {
  for (const writeBytesMax of [1, 2, 3, 5, 7]) {
    it(`by ${writeBytesMax} bytes at a time gets all of them`, async (t) => {
      const { store, files, folder, close } = await failingStore(t)
      files.writeBytesMax = writeBytesMax
      await Promise.all([store.add(someone, draft('ö\u{1f5c4}')), store.add(someone, draft('b'))])
      await close()
      assert.deepEqual(await storedNames(t, folder), ['kept', 'ö\u{1f5c4}', 'b'])
    })
  }
})

describe('a failed datasync', () => {
  it('makes the store refuse what it covers, never sync that file again, and continue in a new one', async (t) => {
    const { store, files, folder, log, journalPath, close } = await failingStore(t)
    failOn(files, 'datasync', '/journal.jsonl', 'EIO')
    files.calls.length = 0
    const results = await Promise.allSettled(['b', 'c'].map((name) => store.add(someone, draft(name))))
    for (const result of results) {
      assert.ok(result.status === 'rejected' && result.reason instanceof StorageUnavailableError)
    }
    assert.equal(store.isWritable, false)
    await assert.rejects(store.add(someone, draft('too early')), StorageUnavailableError)
    assert.deepEqual(names(store), ['kept'])

    await until(() => store.isWritable)
    assert.deepEqual(log.events, ['changes_refused', 'snapshot_written', 'storage_recovered'])
    await store.add(someone, draft('later'))
    await close()
    const syncs = files.calls.filter((call) => call.endsWith(`sync ${journalPath}`))
    assert.deepEqual(syncs, [`datasync ${journalPath}`])
    assert.deepEqual(await storedNames(t, folder), ['kept', 'later'])
  })

  it('leaves no refused change for a restart before the recovery', async (t) => {
    const { store, files, readJournal, close } = await failingStore(t)
    const before = await readJournal()
    files.before = (operation) => {
      if (operation === 'datasync' || operation === 'open') throw systemError('EIO')
    }
    await assert.rejects(store.add(someone, draft('refused')), StorageUnavailableError)
    assert.equal(await readJournal(), before)
    await close()
  })

  it('makes the store refuse the change and those after it, in flight or waiting', async (t) => {
    const { store, files } = await failingStore(t)
    const disk = holdUp(files, 'datasync')
    const first = store.remove(someone, 'kept')
    await disk.begun
    const behind = store.add(someone, draft('kept'))
    const clash = store.remove(someone, 'kept')
    disk.fail(systemError('EIO'))
    for (const change of [first, behind, clash]) await assert.rejects(change, StorageUnavailableError)
    assert.deepEqual(names(store), ['kept'])
    await until(() => store.isWritable)
    await store.remove(someone, 'kept')
  })

  it('keeps the store read-only until a full snapshot is written and synced', async (t) => {
    const { store, files, folder, log, close } = await failingStore(t)
    const tick = holdTimers(t)
    let snapshots = 0
    files.before = (operation, path) => {
      const isFirstSnapshot = operation === 'sync' && path.includes('snapshot.json') && ++snapshots === 1
      if (operation === 'datasync' && snapshots === 0) throw systemError('EIO')
      if (isFirstSnapshot) throw systemError('EIO')
    }
    await assert.rejects(store.add(someone, draft('refused')), StorageUnavailableError)
    await until(() => log.events.includes('storage_unavailable'))
    assert.equal(store.isWritable, false)
    assert.equal(store.find('kept')?.id, 1)
    await assert.rejects(store.add(someone, draft('refused')), StorageUnavailableError)
    assert.equal(snapshots, 1)

    tick(RECOVERY_PAUSE_MS_MIN)
    await until(() => store.isWritable)
    assert.equal(snapshots, 2)
    await store.add(someone, draft('later'))
    await close()
    assert.deepEqual(await storedNames(t, folder), ['kept', 'later'])
  })

  it('loses nothing when the process ends at any system call of the recovery', async (t) => {
    const { store, files, folder, close } = await failingStore(t)
    const root = await temporaryFolder(t)
    const images: { at: string; image: string }[] = []
    files.before = (operation, path) => {
      const image = join(root, String(images.length))
      images.push({ at: `${operation} ${path}`, image })
      cpSync(folder, image, { recursive: true, filter: (source) => !source.endsWith('.lock') })
      if (operation === 'datasync') throw systemError('EIO')
    }
    await assert.rejects(store.add(someone, draft('refused')), StorageUnavailableError)
    await until(() => store.isWritable)
    files.before = () => {}
    await close()
    // The refused change is in the file until it is cut off.
    const cutBack = images.findIndex(({ at }) => at.startsWith('truncate'))
    for (const { at, image } of images.slice(cutBack + 1)) {
      assert.deepEqual(await storedNames(t, image), ['kept'], at)
    }
  })

  it('does not delay the end of the program', async (t) => {
    const { store, files, folder, log, close } = await failingStore(t)
    // The pause before the next attempt never ends.
    holdTimers(t)
    files.before = (operation) => {
      if (operation.endsWith('sync')) throw systemError('EIO')
    }
    await assert.rejects(store.add(someone, draft('refused')), StorageUnavailableError)
    await until(() => log.events.includes('storage_unavailable'))
    await close()
    assert.deepEqual(await storedNames(t, folder), ['kept'])
  })

  it('may happen again to the new file, and to the one after it', async (t) => {
    const { store, files, folder, close } = await failingStore(t)
    for (const name of ['b', 'c']) {
      failOn(files, 'datasync', 'journal.jsonl', 'EIO')
      await assert.rejects(store.add(someone, draft(name)), StorageUnavailableError)
      await until(() => store.isWritable)
      await store.add(someone, draft(name))
    }
    await close()
    assert.deepEqual(await storedNames(t, folder), ['kept', 'b', 'c'])
  })
})
