import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import {
  openAtomicFile,
  removeIfPresent,
  sweepTemporaryFiles,
  writeAtomicFile,
} from '../../src/files/atomic-file.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { createFailingFiles, failOn, type Operation, systemError } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function fileWith(t: TestContext, text: string) {
  const folder = await temporaryFolder(t)
  const path = join(folder, 'file.json')
  await writeFile(path, text)
  return { folder, path, files: createFailingFiles() }
}

describe('an atomic file', () => {
  it('appears whole and private, and leaves no other file', async (t) => {
    const { folder, path } = await fileWith(t, 'old and longer')
    await writeAtomicFile(path, 'nöw', realFileSystem)
    assert.equal(await readFile(path, 'utf8'), 'nöw')
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.deepEqual(await readdir(folder), ['file.json'])
  })

  it('is written, synced, renamed, and the folder synced, in this order', async (t) => {
    const { folder, path, files } = await fileWith(t, 'old')
    await writeAtomicFile(path, 'new', files)
    const calls = files.calls.map((call) =>
      call
        .replace(folder, '')
        .replace(/[0-9a-f]{12}/, '*')
        .trim(),
    )
    const order = ['write /.file.json.*.tmp', 'sync /.file.json.*.tmp', 'rename /file.json', 'open', 'sync']
    assert.deepEqual(
      calls.filter((call) => order.includes(call)),
      order,
    )
  })

  it('appears only when it is committed, and never when it is aborted', async (t) => {
    const { folder, path } = await fileWith(t, 'old')
    const file = await openAtomicFile(path, realFileSystem)
    for (const part of ['ö', Buffer.from('new'), '']) await file.write(part)
    assert.equal(file.size, 5)
    assert.equal(await readFile(path, 'utf8'), 'old')
    await file.commit()
    await file.abort()
    assert.equal(await readFile(path, 'utf8'), 'önew')

    const other = await openAtomicFile(path, realFileSystem)
    await other.write('other')
    await other.abort()
    assert.equal(await readFile(path, 'utf8'), 'önew')
    assert.deepEqual(await readdir(folder), ['file.json'])
  })

  it('gets every byte when the disk writes few at a time', async (t) => {
    for (let writeBytesMax = 1; writeBytesMax <= 7; writeBytesMax++) {
      const { path, files } = await fileWith(t, 'old')
      files.writeBytesMax = writeBytesMax
      await writeAtomicFile(path, 'ünd söme möre', files)
      assert.equal(await readFile(path, 'utf8'), 'ünd söme möre')
    }
  })

  it('leaves either the old or the new text, and no other file, whichever system call fails', async (t) => {
    const failed: string[] = []
    for (let failing = 0; failing === failed.length; failing++) {
      const { folder, path, files } = await fileWith(t, 'old')
      files.writeBytesMax = 2
      let calls = 0
      files.before = (operation) => {
        if (calls++ !== failing) return
        failed.push(operation)
        throw systemError('EIO')
      }
      const outcome = await writeAtomicFile(path, 'new', files).then(() => 'fulfilled', String)
      const hasFailed = failed.length > failing
      const call = `call ${failing}, ${failed.at(-1)}`
      assert.equal(outcome !== 'fulfilled', hasFailed, call)
      const isRenamed = failed.slice(0, failing).includes('rename')
      assert.equal(await readFile(path, 'utf8'), isRenamed ? 'new' : 'old', call)
      assert.deepEqual(await readdir(folder), ['file.json'], call)
    }
    const expected: Operation[] = ['open', 'write', 'write', 'sync', 'rename', 'open', 'sync']
    assert.deepEqual(
      failed.filter((operation) => operation !== 'stat'),
      expected,
    )
  })

  it('leaves only files that the sweep removes when even the removal fails', async (t) => {
    const { folder, path, files } = await fileWith(t, 'old')
    files.before = (operation) => {
      if (operation === 'write' || operation === 'unlink') throw systemError('EIO')
    }
    await assert.rejects(writeAtomicFile(path, 'new', files), { code: 'EIO' })
    assert.equal((await readdir(folder)).length, 2)
    await sweepTemporaryFiles(folder, ['file.json'], realFileSystem)
    assert.deepEqual(await readdir(folder), ['file.json'])
  })
})

describe('sweeping a folder', () => {
  it('removes the leftovers of writers of the named files, and nothing else', async (t) => {
    const folder = await temporaryFolder(t)
    const left = [
      '.keys.json.0123456789ab.tmp',
      '.keys.json.ba9876543210.tmp',
      '.journal.jsonl.0123456789ab.tmp',
    ]
    const others = [
      '.accounts.json.0123456789ab.tmp',
      '.keys.json.0123456789a.tmp',
      '.keys.json.0123456789AB.tmp',
      '.keys.json.tmp',
      '.my-keys.json.0123456789ab.tmp',
      'keys.json',
      'keys.json.0123456789ab.tmp',
    ]
    for (const name of [...left, ...others]) await writeFile(join(folder, name), '')
    await sweepTemporaryFiles(folder, ['keys.json', 'journal.jsonl'], realFileSystem)
    assert.deepEqual((await readdir(folder)).sort(), others.sort())
  })
})

describe('removing a file', () => {
  it('succeeds when it is absent, and reports any other failure', async (t) => {
    const { folder, path, files } = await fileWith(t, 'old')
    await removeIfPresent(path, realFileSystem)
    await removeIfPresent(path, realFileSystem)
    assert.deepEqual(await readdir(folder), [])
    failOn(files, 'unlink', '', 'EACCES')
    await assert.rejects(removeIfPresent(path, files), { code: 'EACCES' })
  })
})
