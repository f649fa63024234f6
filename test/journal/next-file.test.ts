import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { encodeJournalStart } from '../../src/journal/journal-file.ts'
import { putNextFile } from '../../src/journal/next-file.ts'
import { createFailingFiles, failOn, systemError } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const header = { store: 's', after: 4 }
const OLD = 'journal.old.jsonl'

/** A journal that the next one replaces. */
async function setUp(t: TestContext) {
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
    const { put, contents, steps } = await setUp(t)
    const { size, crc: foundCrc, revision: foundRevision } = await put()
    assert.deepEqual([size, foundCrc, foundRevision], [bytes.length, crc, revision])
    assert.deepEqual(await contents(), { 'journal.jsonl': bytes.toString() })
    assert.deepEqual(steps(), ['write ./new', 'sync ./new', 'rename ./journal.jsonl'])
  })

  it('is the open file, so the next write goes to it', async (t) => {
    const { put, path } = await setUp(t)
    const { file, size } = await put()
    await file.write(Buffer.from('behind'), 0, 6, size)
    assert.equal(await readFile(path, 'utf8'), `${bytes}behind`)
  })

  it('keeps the old one under another name, which is durable before the old name is reused', async (t) => {
    const { put, contents, steps } = await setUp(t)
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
      const { put, contents, files, lost } = await setUp(t)
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
    const { put, contents, files, lost, path } = await setUp(t)
    failOn(files, 'rename', `/${basename(path)}`, 'EIO', 2)
    await assert.rejects(put(OLD), { code: 'EIO' })
    assert.deepEqual(await contents(), { [OLD]: 'what was there' })
    assert.deepEqual(
      lost.map((error) => (error as NodeJS.ErrnoException).code),
      ['EIO'],
    )
  })
})
