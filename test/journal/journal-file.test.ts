import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { describe, it } from 'node:test'
import { DamagedFileError } from '../../src/errors.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import {
  checkStore,
  createJournalFile,
  encodeJournalStart,
  openJournalFile,
} from '../../src/journal/journal-file.ts'
import { FRAME_CHANGES_MAX } from '../../src/limits.ts'
import { createFailingFiles } from '../support/failing-files.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { batches, before, frames, journalFile, last } from './journal-place.ts'
import { assertCutOff } from './torn-tail.ts'

describe('a torn tail', () => {
  const tails = {
    'nothing after it': '',
    NULs: '\0'.repeat(600),
    garbage: 'garbage \xff {"',
    'garbage with newlines': 'gar\n\nbage 1 2\n[]\n',
    'an old frame': frames[1] ?? '',
    'the last frame once more': last,
  }
  for (const [name, tail] of Object.entries(tails)) {
    it(`is cut off and kept at every length of the last frame, with ${name}`, (t) =>
      assertCutOff(t, Buffer.from(tail)))
  }

  it('is logged with file, offset and length', async (t) => {
    const { path, write } = await journalFile(t)
    await write(before, last.subarray(0, 9))
    const log = createMemoryLog()
    const journal = (await openJournalFile(path, realFileSystem)) ?? assert.fail('it is missing')
    await journal.cut(await journal.read(() => {}), log)
    await journal.close()
    assert.deepEqual(log.events, ['torn_tail_set_aside'])
    assert.match(log.lines.join(), new RegExp(`"file":"${path}","offset":${before.length},"bytes":9,`))
  })
})

describe('a journal file', () => {
  it('of another store is refused', () => {
    const found = { store: 'another store', after: 0 }
    assert.throws(() => checkStore('/data/journal.jsonl', found, 'this store'), DamagedFileError)
    checkStore('/data/journal.jsonl', found, 'another store')
  })

  it('that is absent is undefined, not an error', async (t) => {
    const { path } = await journalFile(t)
    assert.equal(await openJournalFile(path, realFileSystem), undefined)
  })

  it('that is new is empty, and replaces any existing file', async (t) => {
    const { path, write, replay } = await journalFile(t)
    await write(before, last)
    await createJournalFile(path, { store: 'new store', after: 7 }, realFileSystem)
    assert.deepEqual(await replay(), [])
    const journal = (await openJournalFile(path, realFileSystem, 'r')) ?? assert.fail('it is missing')
    t.after(() => journal.close())
    assert.deepEqual(journal.header, { store: 'new store', after: 7, version: 1 })
  })

  it('begins with changes in frames of bounded length, with consecutive revisions', async (t) => {
    const { path } = await journalFile(t)
    const changes = Array.from({ length: 2 * FRAME_CHANGES_MAX + 1 }, (_, i) => i)
    const start = encodeJournalStart({ store: 's', after: 5 }, changes)
    assert.equal(start.bytes.toString().split('\n').length - 1, 1 + 3)
    assert.equal(start.revision, 5 + changes.length)
    await writeFile(path, start.bytes)
    const journal = (await openJournalFile(path, realFileSystem)) ?? assert.fail('it is missing')
    t.after(() => journal.close())
    const found: [unknown, number][] = []
    const { crc, size, revision } = await journal.read((change, at) => found.push([change, at]))
    assert.deepEqual(
      found,
      changes.map((change) => [change, 5 + change + 1]),
    )
    assert.deepEqual([crc, size, revision], [start.crc, start.bytes.length, start.revision])
  })

  it('is synced before the first write, even when nothing is cut off', async (t) => {
    const { path, write } = await journalFile(t)
    await write(before, last)
    const files = createFailingFiles()
    const journal = (await openJournalFile(path, files)) ?? assert.fail('it is missing')
    t.after(() => journal.close())
    const end = await journal.read(() => {})
    files.calls.length = 0
    const { size, crc, revision } = await journal.cut(end, createMemoryLog())
    assert.deepEqual(files.calls, [`datasync ${path}`])
    assert.deepEqual([size, crc, revision], [before.length + last.length, end.crc, batches.flat().length])
  })

  it('loses its torn tail only after a copy of the tail is durable', async (t) => {
    const { path, write } = await journalFile(t)
    await write(before, last.subarray(0, 9))
    const files = createFailingFiles()
    const journal = (await openJournalFile(path, files)) ?? assert.fail('it is missing')
    t.after(() => journal.close())
    const end = await journal.read(() => {})
    files.calls.length = 0
    await journal.cut(end, createMemoryLog())
    const changes = files.calls.filter((call) => /^(write|sync|rename|truncate) /.test(call))
    assert.deepEqual(
      changes.map((call) => call.replace(dirname(path), '.').replace(/(torn-\d+)-.*$|\.journal\S*tmp/, '$1')),
      [
        'write ./',
        'sync ./',
        `rename ./journal.torn-${before.length}`,
        'sync .',
        'truncate ./journal.jsonl',
        'sync ./journal.jsonl',
      ],
    )
  })
})
