import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { DamagedFileError } from '../../src/errors.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import {
  checkStore,
  createJournalFile,
  encodeJournalStart,
  openJournalFile,
  putNextFile,
} from '../../src/journal/journal-file.ts'
import { FRAME_CHANGES_MAX } from '../../src/limits.ts'
import { createFailingFiles, failOn, systemError } from '../support/failing-files.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
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
    const journal = (await openJournalFile(path, realFileSystem, 1)) ?? assert.fail('it is missing')
    await journal.cut(await journal.read(() => {}), log)
    await journal.close()
    assert.deepEqual(log.events, ['torn_tail_set_aside'])
    assert.match(log.lines.join(), new RegExp(`"file":"${path}","offset":${before.length},"bytes":9,`))
  })
})

describe('a journal file', () => {
  it('of another store is refused', () => {
    const found = { store: 'another store', after: 0, version: 1 }
    assert.throws(() => checkStore('/data/journal.jsonl', found, 'this store'), DamagedFileError)
    checkStore('/data/journal.jsonl', found, 'another store')
  })

  it('that is absent is undefined, not an error', async (t) => {
    const { path } = await journalFile(t)
    assert.equal(await openJournalFile(path, realFileSystem, 1), undefined)
  })

  it('that is new is empty, and replaces any existing file', async (t) => {
    const { path, write, replay } = await journalFile(t)
    await write(before, last)
    await createJournalFile(path, { store: 'new store', after: 7, version: 1 }, realFileSystem)
    assert.deepEqual(await replay(), [])
    const journal = (await openJournalFile(path, realFileSystem, 1, 'r')) ?? assert.fail('it is missing')
    t.after(() => journal.close())
    assert.deepEqual(journal.header, { store: 'new store', after: 7, version: 1 })
  })

  it('begins with changes in frames of bounded length, with consecutive revisions', async (t) => {
    const { path } = await journalFile(t)
    const changes = Array.from({ length: 2 * FRAME_CHANGES_MAX + 1 }, (_, i) => i)
    const start = encodeJournalStart({ store: 's', after: 5, version: 1 }, changes)
    assert.equal(start.bytes.toString().split('\n').length - 1, 1 + 3)
    assert.equal(start.revision, 5 + changes.length)
    await writeFile(path, start.bytes)
    const journal = (await openJournalFile(path, realFileSystem, 1)) ?? assert.fail('it is missing')
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
    const journal = (await openJournalFile(path, files, 1)) ?? assert.fail('it is missing')
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
    const journal = (await openJournalFile(path, files, 1)) ?? assert.fail('it is missing')
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

const header = { store: 's', after: 4, version: 1 }
const OLD = 'journal.old.jsonl'

/** A journal that the next one replaces. */
async function nextJournal(t: TestContext) {
  const folder = await temporaryFolder(t)
  const path = join(folder, 'journal.jsonl')
  await writeFile(path, 'what was there')
  const files = createFailingFiles()
  const lost: unknown[] = []
  return {
    path,
    files,
    lost,
    put: async (keepAs?: string) => {
      const old = keepAs && join(folder, keepAs)
      const next = await putNextFile(path, header, ['a', 'b'], old, files, (error) => lost.push(error))
      t.after(() => next.file.close())
      return next
    },
    contents: async () => {
      const names = (await readdir(folder)).sort()
      const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
      return Object.fromEntries(names.map((name, i) => [name, texts[i]]))
    },
    /** The disk calls that make it durable, in order. */
    steps: () =>
      files.calls
        .filter((call) => /^(write|sync|rename) /.test(call))
        .map((call) => call.replace(dirname(path), '.').replace(/\.journal\S*\.tmp/, 'new')),
  }
}

describe('the next journal', () => {
  const { bytes, crc, revision } = encodeJournalStart(header, ['a', 'b'])

  it('replaces the old one, and is synced before it gets the name', async (t) => {
    const { put, contents, steps } = await nextJournal(t)
    const { size, crc: foundCrc, revision: foundRevision } = await put()
    assert.deepEqual([size, foundCrc, foundRevision], [bytes.length, crc, revision])
    assert.deepEqual(await contents(), { 'journal.jsonl': bytes.toString() })
    assert.deepEqual(steps(), ['write ./new', 'sync ./new', 'rename ./journal.jsonl'])
  })

  it('is the open file, so the next write goes to it', async (t) => {
    const { put, path } = await nextJournal(t)
    const { file, size } = await put()
    await file.write(Buffer.from('behind'), 0, 6, size)
    assert.equal(await readFile(path, 'utf8'), `${bytes}behind`)
  })

  it('keeps the old one under another name, which is durable before the old name is reused', async (t) => {
    const { put, contents, steps } = await nextJournal(t)
    await put(OLD)
    assert.deepEqual(await contents(), { 'journal.jsonl': bytes.toString(), [OLD]: 'what was there' })
    assert.deepEqual(steps().slice(2), [`rename ./${OLD}`, 'sync .', 'rename ./journal.jsonl'])
  })

  for (const [operation, part] of [
    ['write', '.tmp'],
    ['sync', '.tmp'],
    ['rename', OLD],
    ['sync', ''],
    ['rename', '/journal.jsonl'],
  ] as const) {
    it(`changes nothing when the ${operation} of ${part || 'the folder'} fails`, async (t) => {
      const { put, contents, files, lost } = await nextJournal(t)
      if (part === '') {
        let syncs = 0
        files.before = (called) => {
          if (called === 'sync' && ++syncs === 2) throw systemError('EIO')
        }
      } else failOn(files, operation, part, 'EIO')
      await assert.rejects(put(OLD), { code: 'EIO' })
      assert.deepEqual(await contents(), { 'journal.jsonl': 'what was there' })
      assert.deepEqual(lost, [])
    })
  }

  it('reports when the old one cannot get its name back', async (t) => {
    const { put, contents, files, lost, path } = await nextJournal(t)
    failOn(files, 'rename', `/${basename(path)}`, 'EIO', 2)
    await assert.rejects(put(OLD), { code: 'EIO' })
    assert.deepEqual(await contents(), { [OLD]: 'what was there' })
    assert.deepEqual(
      lost.map((error) => (error as NodeJS.ErrnoException).code),
      ['EIO'],
    )
  })
})
