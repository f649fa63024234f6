import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { readListedChanges } from '../../../src/audit/listed-changes.ts'
import { AUDIT_WAITING_LINES_MAX } from '../../../src/audit/trail-writer.ts'
import { DamagedFileError } from '../../../src/errors.ts'
import { dataPaths } from '../../../src/files/data-folder.ts'
import { encodeJournalStart } from '../../../src/journal/journal-file.ts'
import { IMPORT_AUDITED_RECORDS_MAX } from '../../../src/limits.ts'
import { examineStore } from '../../../src/storage/file/file-examination.ts'
import { until } from '../../support/eventually.ts'
import { createFailingFiles, failOn } from '../../support/failing-files.ts'
import { draft, names, openStore, someone } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const importer = { command: 'import', by: 'root' }

async function setUp(t: TestContext) {
  const folder = await temporaryFolder(t)
  const path = (name: string) => join(folder, name)
  const open = (options = {}) => openStore(t, folder, { hasTrail: true, ...options })
  const trail = () => readFile(path('audit.jsonl'), 'utf8')
  /** Adds `a`, modifies it, imports `b`, and removes `a`. */
  const fill = async () => {
    const { store, close } = await open()
    await store.add(someone, draft('a'))
    await store.modify(someone, 'a', { port: 23 })
    await store.importAll(importer, [draft('b')], 'merge')
    await store.remove(someone, 'a')
    await close()
  }
  return { folder, path, open, trail, fill }
}

/** Without the lines of starts. */
function changesIn(trail: string): string[] {
  return trail.split('\n').filter((line) => line.includes('"event":"configuration'))
}

describe('the lines of changes that a crash kept from the trail', () => {
  it('are completed at the next start, as they would have been', async (t) => {
    const { path, open, trail, fill } = await setUp(t)
    await fill()
    const whole = changesIn(await trail())
    assert.equal(whole.length, 5)
    const started = (await trail()).indexOf('\n') + 1
    for (let lines = 0; lines < whole.length; lines += 1) {
      const kept = whole.slice(0, lines).map((line) => `${line}\n`)
      await writeFile(path('audit.jsonl'), `${(await trail()).slice(0, started)}${kept.join('')}`)
      await (await open()).close()
      // The line of an import comes with that of its first change.
      const expected = lines === 3 ? [...kept, ...whole.slice(2)] : whole
      assert.deepEqual(
        changesIn(await trail()),
        expected.map((line) => line.trimEnd()),
        `${lines} lines kept`,
      )
    }
  })

  it('are completed once', async (t) => {
    const { path, open, trail, fill } = await setUp(t)
    await fill()
    await truncate(path('audit.jsonl'), (await trail()).indexOf('\n') + 1)
    await (await open()).close()
    const completed = changesIn(await trail())
    await (await open()).close()
    assert.deepEqual(changesIn(await trail()), completed)
  })

  it('are one for a large import', async (t) => {
    const { path, open, trail } = await setUp(t)
    const drafts = Array.from({ length: IMPORT_AUDITED_RECORDS_MAX + 1 }, (_, i) => draft(`n${i}`))
    const { store, close } = await open()
    await store.importAll(importer, drafts, 'merge')
    await store.remove(someone, 'n0')
    await close()
    const whole = changesIn(await trail())
    assert.equal(whole.length, 2)
    await truncate(path('audit.jsonl'), (await trail()).indexOf('\n') + 1)
    await (await open()).close()
    assert.deepEqual(changesIn(await trail()), whole)
  })

  it('are completed also when they are more than may wait in memory', async (t) => {
    const { path, open, trail } = await setUp(t)
    const changes = AUDIT_WAITING_LINES_MAX + 500
    const add = { add: { id: 1, ...draft('a') }, actor: importer, time: '2026-01-02T03:04:05.678Z' }
    const rest = Array.from({ length: changes - 1 }, (_, i) => {
      return { modify: { id: 1, ...draft('a', { port: (i % 2) + 1 }) }, name: 'a' }
    })
    const journal = encodeJournalStart({ store: 'abcdefgh', after: 0, version: 2 }, [add, ...rest])
    await writeFile(path('journal.jsonl'), journal.bytes)
    await writeFile(path('audit.jsonl'), '{"event":"started","tag":"abcdefgh-0"}\n')
    await (await open()).close()
    assert.equal(changesIn(await trail()).length, changes)
    assert.ok(!(await trail()).includes('lines_lost'))
  })

  it('are not made up for a trail that was removed', async (t) => {
    const { path, open, trail, fill } = await setUp(t)
    await fill()
    await rm(path('audit.jsonl'))
    await (await open()).close()
    await (await open()).close()
    assert.deepEqual(changesIn(await trail()), [])
  })

  it('are on disk before a snapshot has the changes', async (t) => {
    const { path, open } = await setUp(t)
    const files = createFailingFiles()
    const { store, log, close } = await open({ files, snapshotBytesMin: 500 })
    failOn(files, 'datasync', 'audit', 'EIO')
    for (const name of ['a', 'b', 'c']) await store.add(someone, draft(name))
    await until(() => log.events.includes('snapshot_failed'))
    assert.ok((await readdir(path('.'))).includes('journal.old.jsonl'))
    assert.ok(!(await readdir(path('.'))).includes('snapshot.json'))
    files.before = () => {}
    for (const name of ['d', 'e', 'f', 'g', 'h']) await store.add(someone, draft(name))
    await until(() => log.events.includes('snapshot_written'))
    await close()
    assert.ok(!(await readdir(path('.'))).includes('journal.old.jsonl'))
  })
})

describe('a change that the trail lists and the journal lacks', () => {
  it('is damage that names it, for a start and for an examination', async (t) => {
    const { folder, path, open, fill } = await setUp(t)
    await fill()
    const journal = await readFile(path('journal.jsonl'), 'utf8')
    const lines = journal.trimEnd().split('\n')
    await writeFile(path('journal.jsonl'), `${lines.slice(0, -2).join('\n')}\n`)
    const expected =
      /it ends at revision 2, but the audit trail lists acknowledged changes up to revision 4: "b" \(id 2\), "a" \(id 1\), at byte \d+; /
    await assert.rejects(open(), (error) => error instanceof DamagedFileError && expected.test(error.message))
    const listed = await readListedChanges(dataPaths(folder))
    const { findings } = await examineStore(dataPaths(folder), true, listed)
    assert.match(findings.find(({ isDamage }) => isDamage)?.words ?? '', expected)
  })

  it('is not damage in another store, or without its trail', async (t) => {
    const { path, open, fill } = await setUp(t)
    await fill()
    const journal = await readFile(path('journal.jsonl'), 'utf8')
    const [, ...lines] = journal.trimEnd().split('\n')
    assert.equal(lines.length, 4)
    await writeFile(
      path('journal.jsonl'),
      encodeJournalStart({ store: 'another', after: 0, version: 2 }, []).bytes,
    )
    await (await open()).close()
    await writeFile(path('journal.jsonl'), `${journal.split('\n').slice(0, 2).join('\n')}\n`)
    await rm(path('audit.jsonl'))
    const { store } = await open()
    assert.deepEqual(names(store), ['a'])
  })
})
