import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { StorageFullError, TooManyChangesError } from '../../src/errors.ts'
import { GroupCommit } from '../../src/journal/group-commit.ts'
import { Journal } from '../../src/journal/journal.ts'
import { createJournalFile, openJournalFile } from '../../src/journal/journal-file.ts'
import { FRAME_CHANGES_MAX, LINE_BYTES_MAX } from '../../src/limits.ts'
import { until } from '../support/eventually.ts'
import {
  createFailingFiles,
  type FailingFiles,
  failOn,
  holdUp,
  systemError,
} from '../support/failing-files.ts'
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
  const recover = () => journal.restart(1, () => ['recovered'])
  const journal: Journal = new Journal(path, 's', position, recover, createMemoryLog(), files)
  const append = (...changes: string[]) =>
    journal.append({
      json: [Buffer.from(JSON.stringify(changes))],
      count: changes.length,
      apply(revision) {
        for (const [i, change] of changes.entries()) applied.push(`${revision + i} ${change}`)
      },
    })
  t.after(() => journal.close())
  const stored = async (name = path) => {
    const { file, changes } = await read(name, files)
    await file.close()
    return changes
  }
  return { journal, path, files, applied, append, stored }
}

describe('a journal', () => {
  it('applies changes in the order of their revisions, each frame before the next', async (t) => {
    const { journal, append, applied, stored, files } = await openJournal(t)
    files.calls.length = 0
    await Promise.all([append('a', 'b'), append('c'), append('d', 'e')])
    assert.deepEqual(applied, ['1 a', '2 b', '3 c', '4 d', '5 e'])
    assert.equal(files.calls.filter((call) => call.startsWith('datasync')).length, 3)
    assert.equal(files.calls.filter((call) => call.startsWith('write')).length, 3)
    assert.deepEqual(await stored(), ['a', 'b', 'c', 'd', 'e'])
    assert.equal(journal.revision, 5)
  })

  it('continues in a new file after the initial changes of that file, and keeps the old one if asked to', async (t) => {
    const { journal, path, append, applied, stored } = await openJournal(t)
    const old = join(dirname(path), 'old.jsonl')
    await append('first')
    await journal.restart(1, () => [`after ${applied.length}`], old)
    await append('second')
    assert.deepEqual(await stored(old), ['first'])
    assert.deepEqual(await stored(), ['after 1', 'second'])
    await journal.restart(1)
    assert.deepEqual(await stored(), [])
    await append('third')
    assert.deepEqual(await stored(), ['third'])
    assert.deepEqual(applied, ['1 first', '3 second', '4 third'])
  })

  it('begins a new file for each of several restarts at once', async (t) => {
    const { journal, stored } = await openJournal(t)
    await Promise.all(['a', 'b', 'c'].map((change) => journal.restart(1, () => [change])))
    assert.deepEqual(await stored(), ['c'])
  })

  it('stays in the old file when the new one cannot be created, and leaves no part of the new one', async (t) => {
    const { journal, path, files, append, stored } = await openJournal(t)
    await append('kept')
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
        journal.restart(1, () => ['new'], old),
        { code: 'EIO' },
      )
      assert.deepEqual(await readdir(dirname(path)), ['journal.jsonl'], operation)
    }
    await append('later')
    assert.deepEqual(await stored(), ['kept', 'later'])
  })

  it('refuses changes until its recovery when the folder of a new file cannot be synced', async (t) => {
    const { journal, path, files, append, stored } = await openJournal(t)
    files.before = (operation, path) => {
      if (operation === 'sync' && !path.endsWith('.tmp')) {
        files.before = () => {}
        throw Object.assign(new Error('EIO'), { code: 'EIO' })
      }
    }
    const restarted = journal.restart(1, () => ['new'])
    await assert.rejects(restarted, { code: 'EIO' })
    assert.equal(journal.isWritable, false)
    await assert.rejects(append('refused'), { code: 'storage_unavailable' })
    await until(() => journal.isWritable)
    assert.deepEqual(await stored(path), ['recovered'])
  })

  it('applies a frame, however long that takes, before it writes the next or begins a new file', async (t) => {
    const { journal, append, applied, stored } = await openJournal(t)
    const begun = Promise.withResolvers<void>()
    const end = Promise.withResolvers<void>()
    const answered: string[] = []
    const slow = {
      count: 3,
      json: ['["a",', '"b",', '"c"]'].map((text) => Buffer.from(text)),
      async apply(firstRevision: number) {
        begun.resolve()
        await end.promise
        applied.push(`${firstRevision} slow`)
      },
    }
    const all = [
      append('before').then(() => answered.push('before')),
      journal.append(slow).then(() => answered.push('slow')),
      append('behind').then(() => answered.push('behind')),
      journal.restart(1, () => applied).then(() => answered.push('restarted')),
    ]
    await begun.promise
    all.push(append('late').then(() => answered.push('late')))
    for (let turn = 0; turn < 100; turn++) await nextTurn()
    assert.deepEqual([applied, answered], [['1 before'], ['before']])
    assert.deepEqual(await stored(), ['before', 'a', 'b', 'c'])
    end.resolve()
    await Promise.all(all)
    assert.deepEqual(applied, ['1 before', '2 slow', '5 behind', '9 late'])
    assert.deepEqual(answered, ['before', 'slow', 'behind', 'restarted', 'late'])
    assert.deepEqual(await stored(), [...applied.slice(0, 3), 'late'])
  })

  it('asks in the tick in which a frame is written whether it may be', async (t) => {
    const { journal, files, append, stored } = await openJournal(t)
    const refusal = new Error('not any more')
    let isAllowed = true
    const held = holdUp(files, 'datasync')
    const before = append('before')
    await held.begun
    const json = [Buffer.from('["refused"]')]
    const check = () => {
      if (!isAllowed) throw refusal
    }
    const refused = assert.rejects(
      journal.append({ json, count: 1, check, apply: () => assert.fail() }),
      refusal,
    )
    const behind = append('behind')
    isAllowed = false
    held.release()
    await Promise.all([before, refused, behind])
    assert.deepEqual(await stored(), ['before', 'behind'])
  })

  it('cuts back a frame that is not wholly written, and does not apply it', async (t) => {
    const { journal, files, append, applied, stored } = await openJournal(t)
    await append('before')
    let written = 0
    files.before = (operation) => {
      if (operation === 'write' && ++written === 3) throw systemError('ENOSPC')
    }
    const json = ['["a",', '"b"]'].map((text) => Buffer.from(text))
    const large = { count: 2, json, apply: async () => assert.fail('it was applied') }
    await assert.rejects(journal.append(large), StorageFullError)
    await append('behind')
    assert.deepEqual(await stored(), ['before', 'behind'])
    assert.deepEqual(applied, ['1 before', '2 behind'])
  })

  it('refuses a frame that could not be read back', async (t) => {
    const { journal } = await openJournal(t)
    const json = [Buffer.alloc(LINE_BYTES_MAX)]
    await assert.rejects(journal.append({ count: 1, json, apply: async () => {} }), TooManyChangesError)
  })

  it('writes what waits when it is closed, and nothing that comes later', async (t) => {
    const { journal, files, append, stored } = await openJournal(t)
    const held = holdUp(files, 'datasync')
    const both = [append('a'), append('b')]
    await held.begun
    const closed = journal.close()
    const late = assert.rejects(append('late'), { code: 'storage_unavailable' })
    held.release()
    await Promise.all([...both, closed, late])
    assert.deepEqual(await stored(), ['a', 'b'])
  })
})

describe('a group commit', () => {
  async function openGroup(t: TestContext) {
    const { journal, files, stored } = await openJournal(t)
    const applied: string[] = []
    const changes = new GroupCommit<string>(journal, (change) => applied.push(change))
    return { changes, applied, files, stored }
  }

  it('has the changes that come while others are written in one frame, as far as they fit', async (t) => {
    const { changes, applied, files, stored } = await openGroup(t)
    files.calls.length = 0
    const texts = Array.from({ length: FRAME_CHANGES_MAX + 1 }, (_, i) => `change ${i}`)
    await Promise.all(texts.map((text) => changes.add(text)))
    assert.deepEqual(applied, texts)
    assert.equal(files.calls.filter((call) => call.startsWith('datasync')).length, 2)
    assert.deepEqual(await stored(), texts)
  })

  it('refuses the changes of a frame that cannot be written, and no others', async (t) => {
    const { changes, applied, files, stored } = await openGroup(t)
    const held = holdUp(files, 'write')
    const refused = changes.add('refused')
    await held.begun
    const behind = changes.add('behind')
    held.fail(systemError('ENOSPC'))
    await assert.rejects(refused, StorageFullError)
    await behind
    await changes.end()
    assert.deepEqual([applied, await stored()], [['behind'], ['behind']])
  })
})
