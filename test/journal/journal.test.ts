import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { StorageFullError, TooManyChangesError } from '../../src/errors.ts'
import { Journal } from '../../src/journal/journal.ts'
import { createJournalFile, openJournalFile } from '../../src/journal/journal-file.ts'
import { FRAME_CHANGES_MAX, LINE_BYTES_MAX } from '../../src/limits.ts'
import { until } from '../support/eventually.ts'
import { createFailingFiles, type FailingFiles, failOn } from '../support/failing-files.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function read(path: string, files: FailingFiles) {
  const file = await openJournalFile(path, files, 1)
  assert.ok(file)
  const changes: unknown[] = []
  const end = await file.read((change) => changes.push(change))
  const position = await file.cut(end, createMemoryLog())
  return { changes, position, file }
}

/** A journal of texts, whose state is their list. */
async function openJournal(t: TestContext) {
  const path = join(await temporaryFolder(t), 'journal.jsonl')
  const files = createFailingFiles()
  await createJournalFile(path, { store: 's', after: 0, version: 1 }, files)
  const { position } = await read(path, files)
  const applied: string[] = []
  let applyMs = 0
  const owner = {
    version: 1,
    encode: (changes: readonly string[]) => JSON.stringify(changes),
    renew: (begin: () => Promise<void>) => begin(),
    apply(change: string, revision: number) {
      const end = performance.now() + applyMs
      while (performance.now() < end);
      applied.push(`${revision} ${change}`)
    },
    refuse: () => {},
    recover: () => journal.restart(() => ['recovered']),
  }
  const journal: Journal<string> = new Journal(path, 's', position, owner, createMemoryLog(), files)
  t.after(() => journal.close())
  const stored = async (name = path) => {
    const { file, changes } = await read(name, files)
    await file.close()
    return changes
  }
  /** From now on, to apply a change takes a while. */
  const slow = () => {
    applyMs = 0.5
  }
  return { journal, path, files, applied, stored, slow }
}

describe('a journal', () => {
  it('applies changes in the order of their revisions, across several frames', async (t) => {
    const { journal, applied, stored, files } = await openJournal(t)
    files.calls.length = 0
    const changes = Array.from({ length: FRAME_CHANGES_MAX + 1 }, (_, i) => `change ${i}`)
    await Promise.all(changes.map((change) => journal.append(change)))
    assert.deepEqual(
      applied,
      changes.map((change, i) => `${i + 1} ${change}`),
    )
    assert.equal(files.calls.filter((call) => call.startsWith('datasync')).length, 2)
    assert.deepEqual(await stored(), changes)
    assert.equal(journal.revision, changes.length)
  })

  it('continues in a new file after the initial changes of that file, and keeps the old one if asked to', async (t) => {
    const { journal, path, applied, stored } = await openJournal(t)
    const old = join(dirname(path), 'old.jsonl')
    await journal.append('first')
    await journal.restart(() => [`after ${applied.length}`], old)
    await journal.append('second')
    assert.deepEqual(await stored(old), ['first'])
    assert.deepEqual(await stored(), ['after 1', 'second'])
    await journal.restart(() => [])
    assert.deepEqual(await stored(), [])
    await journal.append('third')
    assert.deepEqual(await stored(), ['third'])
    assert.deepEqual(applied, ['1 first', '3 second', '4 third'])
  })

  it('begins a new file for each of several restarts at once', async (t) => {
    const { journal, stored } = await openJournal(t)
    await Promise.all(['a', 'b', 'c'].map((change) => journal.restart(() => [change])))
    assert.deepEqual(await stored(), ['c'])
  })

  it('stays in the old file when the new one cannot be created, and leaves no part of the new one', async (t) => {
    const { journal, path, files, stored } = await openJournal(t)
    await journal.append('kept')
    const old = join(dirname(path), 'old.jsonl')
    for (const [operation, part] of [
      ['open', '.tmp'],
      ['write', '.tmp'],
      ['sync', '.tmp'],
      ['rename', 'old.jsonl'],
      ['rename', '/journal.jsonl'],
    ] as const) {
      failOn(files, operation, part, 'EIO')
      await assert.rejects(
        journal.restart(() => ['new'], old),
        { code: 'EIO' },
      )
      assert.deepEqual(await readdir(dirname(path)), ['journal.jsonl'], operation)
    }
    await journal.append('later')
    assert.deepEqual(await stored(), ['kept', 'later'])
  })

  it('refuses changes until its recovery when the folder of a new file cannot be synced', async (t) => {
    const { journal, path, files, stored } = await openJournal(t)
    files.before = (operation, path) => {
      if (operation === 'sync' && !path.endsWith('.tmp')) {
        files.before = () => {}
        throw Object.assign(new Error('EIO'), { code: 'EIO' })
      }
    }
    const restarted = journal.restart(() => ['new'])
    await assert.rejects(restarted, { code: 'EIO' })
    assert.equal(journal.isWritable, false)
    assert.throws(() => void journal.append('refused'), { code: 'storage_unavailable' })
    await until(() => journal.isWritable)
    assert.deepEqual(await stored(path), ['recovered'])
  })

  it('applies a large change before it writes the next frame', async (t) => {
    const { journal, applied, stored } = await openJournal(t)
    const begun = Promise.withResolvers<void>()
    const end = Promise.withResolvers<void>()
    const answered: string[] = []
    const large = {
      count: 3,
      version: 1,
      json: ['["a",', '"b",', '"c"]'].map((text) => Buffer.from(text)),
      async apply(firstRevision: number) {
        begun.resolve()
        await end.promise
        applied.push(`${firstRevision} large`)
      },
    }
    const all = [
      journal.append('before').then(() => answered.push('before')),
      journal.appendLarge(large).then(() => answered.push('large')),
      journal.append('behind').then(() => answered.push('behind')),
    ]
    await begun.promise
    for (let turn = 0; turn < 100; turn++) await nextTurn()
    assert.deepEqual([applied, answered], [['1 before'], ['before']])
    assert.deepEqual(await stored(), ['before', 'a', 'b', 'c'])
    end.resolve()
    await Promise.all(all)
    assert.deepEqual(applied, ['1 before', '2 large', '5 behind'])
    assert.deepEqual(answered, ['before', 'large', 'behind'])
    assert.deepEqual(await stored(), ['before', 'a', 'b', 'c', 'behind'])
  })

  it('cuts back a large change that is not wholly written, and does not apply it', async (t) => {
    const { journal, files, applied, stored } = await openJournal(t)
    await journal.append('before')
    let written = 0
    files.before = (operation) => {
      if (operation === 'write' && ++written === 3) throw Object.assign(new Error('full'), { code: 'ENOSPC' })
    }
    const json = ['["a",', '"b"]'].map((text) => Buffer.from(text))
    const large = { count: 2, json, apply: async () => assert.fail('it was applied') }
    await assert.rejects(journal.appendLarge(large), StorageFullError)
    await journal.append('behind')
    assert.deepEqual(await stored(), ['before', 'behind'])
    assert.deepEqual(applied, ['1 before', '2 behind'])
  })

  it('refuses a large change that could not be read back', async (t) => {
    const { journal } = await openJournal(t)
    const json = [Buffer.alloc(LINE_BYTES_MAX)]
    const large = { count: 1, json, apply: async () => {} }
    assert.throws(() => void journal.appendLarge(large), TooManyChangesError)
  })

  it('lets others run while it applies a slow frame', async (t) => {
    const { journal, applied, slow } = await openJournal(t)
    slow()
    const all = Array.from({ length: 64 }, (_, i) => journal.append(`change ${i}`))
    await all[0]
    assert.ok(applied.length < 64, `${applied.length} changes were applied at once`)
    await Promise.all(all)
    assert.deepEqual(
      applied,
      all.map((_, i) => `${i + 1} change ${i}`),
    )
  })
})
