import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { cpSync, truncateSync, writeFileSync } from 'node:fs'
import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { DamagedFileError } from '../../../src/errors.ts'
import { dataPaths } from '../../../src/files/data-folder.ts'
import type { FileSystem, OpenFile } from '../../../src/files/file-system.ts'
import { encodeFrame } from '../../../src/journal/frame.ts'
import { encodeJournalStart } from '../../../src/journal/journal-file.ts'
import { readStore } from '../../../src/storage/file/store-files.ts'
import { CHANGE_VERSION } from '../../../src/store/change.ts'
import { Configuration } from '../../../src/store/configuration.ts'
import { createFailingFiles } from '../../support/failing-files.ts'
import { draft } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { assertNoCompactionIsDamage, countBeside, namesBeside, openCounting } from './counting-store.ts'

function isDamage(name: string) {
  return (error: unknown) => error instanceof DamagedFileError && basename(error.path) === name
}

/** The real file system, with the number of files that were opened, and of those that are open still. */
function countOpenFiles() {
  const files = createFailingFiles()
  const open = new Set<OpenFile>()
  let opened = 0
  return {
    ...files,
    opened: () => opened,
    left: () => open.size,
    async open(...args: Parameters<FileSystem['open']>) {
      const file = await files.open(...args)
      opened += 1
      open.add(file)
      const close = async () => {
        await file.close()
        open.delete(file)
      }
      return { ...file, close }
    },
  }
}

describe('reading a store beside its server', () => {
  it('returns the durable state at each moment of a compaction, and changes nothing', async (t) => {
    const folder = await temporaryFolder(t)
    const root = await temporaryFolder(t)
    const { files, count, beginCompaction } = await openCounting(t, folder)
    const images: { image: string; at: string; acknowledged: number }[] = []
    files.before = (operation, path) => {
      const image = join(root, String(images.length))
      images.push({ image, at: `${operation} ${basename(path)}`, acknowledged: count() })
      cpSync(folder, image, { recursive: true, filter: (source) => !source.endsWith('lock') })
    }
    const compacted = await beginCompaction()
    await compacted()
    files.before = () => {}
    assert.ok(images.some(({ at }) => at === 'rename journal.old.jsonl'))
    for (const { image, at, acknowledged } of images) {
      const before = await readdir(image)
      const found = await countBeside(image)
      assert.ok(found === acknowledged || found === acknowledged + 1, `${at}: ${found}, not ${acknowledged}`)
      assert.deepEqual(await readdir(image), before)
    }
  })

  it('returns a state from the time of the read when a whole compaction happens before any of its calls', async (t) => {
    const folder = await temporaryFolder(t)
    const { count, beginCompaction } = await openCounting(t, folder)
    let wasReached = true
    for (let step = 0; wasReached; step += 1) {
      wasReached = false
      let calls = 0
      const files = createFailingFiles()
      files.before = async () => {
        if (calls++ !== step) return
        wasReached = true
        const compacted = await beginCompaction()
        await compacted()
      }
      const before = count()
      const found = await countBeside(folder, files)
      assert.ok(before <= found && found <= count(), `before call ${step}: ${found}, not ${before}`)
    }
    assert.ok(count() > 30)
  })

  it('retries until it succeeds while one compaction follows another', async (t) => {
    const folder = await temporaryFolder(t)
    const { count, beginCompaction } = await openCounting(t, folder)
    const files = createFailingFiles()
    const most = 20
    let compactions = 0
    files.before = async (operation, path) => {
      if (operation !== 'stat' || basename(path) !== 'snapshot.json' || compactions === most) return
      compactions += 1
      const compacted = await beginCompaction()
      await compacted()
    }
    assert.equal(await countBeside(folder, files), count())
    assert.equal(compactions, most)
  })

  it('never mistakes a compaction for damage, wherever it begins and ends between its calls', (t) =>
    assertNoCompactionIsDamage(t, 3))

  it('reads again when a frame was cut off and rewritten meanwhile', async (t) => {
    const header = encodeJournalStart({ store: 's', after: 0, version: CHANGE_VERSION }, [])
    const frame = (crc: number, revision: number, name: string) =>
      encodeFrame(crc, revision, JSON.stringify([{ add: new Configuration(revision, draft(name)) }]))
    const first = frame(header.crc, 1, 'first')
    const good = Buffer.concat([header.bytes, first.bytes])
    const refusedName = `refused ${'x'.repeat(200)}`
    const refused = frame(first.crc, 2, refusedName)
    const second = frame(first.crc, 2, 'second')
    const third = frame(second.crc, 3, 'third')
    const readBytesMax = header.bytes.length
    const path = join(await temporaryFolder(t), 'journal.jsonl')
    let reread = 0
    let wasReached = true
    for (let step = 0; wasReached; step += 1) {
      wasReached = false
      await writeFile(path, Buffer.concat([good, refused.bytes]))
      const files = Object.assign(createFailingFiles(), { readBytesMax })
      let reads = 0
      files.before = (operation) => {
        if (operation !== 'read' || reads++ !== step) return
        wasReached = true
        truncateSync(path, good.length)
        writeFileSync(path, Buffer.concat([second.bytes, third.bytes]), { flag: 'a' })
      }
      const found = await namesBeside(join(path, '..'), files)
      const isSound = [['first', 'second', 'third'], ['first', refusedName], ['first']].some(
        (names) => names.join() === found.join(),
      )
      assert.ok(isSound, `${step}: ${found}`)
      if (files.calls.filter((call) => call.startsWith('open ') && call.endsWith(path)).length > 1)
        reread += 1
    }
    assert.ok(reread > 0, 'no torn read came about')
  })

  it('reports damage at once when nobody writes', async (t) => {
    const folder = await temporaryFolder(t)
    const { bytes } = encodeJournalStart({ store: 's', after: 0, version: CHANGE_VERSION }, [
      { remove: 'absent' },
    ])
    await writeFile(join(folder, 'journal.jsonl'), bytes)
    const files = createFailingFiles()
    await assert.rejects(namesBeside(folder, files), isDamage('journal.jsonl'))
    assert.equal(files.calls.filter((call) => call === `open ${join(folder, 'journal.jsonl')}`).length, 1)
  })

  it('reports damage even when somebody writes all the time', async (t) => {
    const folder = await temporaryFolder(t)
    const path = join(folder, 'journal.jsonl')
    const { bytes } = encodeJournalStart({ store: 's', after: 0, version: CHANGE_VERSION }, [
      { remove: 'absent' },
    ])
    await writeFile(path, bytes)
    const files = createFailingFiles()
    files.before = (operation) => (operation === 'read' ? appendFile(path, 'x') : undefined)
    await assert.rejects(namesBeside(folder, files), isDamage('journal.jsonl'))
  })

  it('reports missing files in a used folder, and an empty store in an unused one', async (t) => {
    const folder = await temporaryFolder(t)
    await assert.rejects(namesBeside(folder), isDamage('journal.jsonl'))
    const { store, index } = await readStore(dataPaths(folder), false)
    assert.deepEqual([store, index.count, index.lastId], [undefined, 0, 0])
  })

  it('leaves no file open, whether it succeeds or fails', async (t) => {
    const folder = await temporaryFolder(t)
    const { store, beginCompaction } = await openCounting(t, folder)
    const compacted = await beginCompaction()
    await compacted()
    await store.close()
    const files = countOpenFiles()
    await namesBeside(folder, files)
    assert.ok(files.opened() > 1)
    assert.equal(files.left(), 0)
    const journal = join(folder, 'journal.jsonl')
    const bytes = await readFile(journal)
    await writeFile(journal, 'no journal\n')
    await assert.rejects(namesBeside(folder, files), isDamage('journal.jsonl'))
    await writeFile(journal, bytes)
    await rm(join(folder, 'snapshot.json'))
    await assert.rejects(namesBeside(folder, files), isDamage('journal.jsonl'))
    assert.equal(files.left(), 0)
  })
})
