import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { link, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { AuditFile } from '../../src/audit/audit-file.ts'
import { FolderRefusedError, systemCode } from '../../src/errors.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { createFailingFiles, failOn, systemError } from '../support/failing-files.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function setUp(t: TestContext, bytesMax = 10) {
  const path = await temporaryFolder(t)
  const [files, log] = [createFailingFiles(), createMemoryLog()]
  const file = new AuditFile(dataPaths(path, files), bytesMax, log)
  t.after(() => file.close())
  const read = (name = 'audit.jsonl') => readFile(join(path, name), 'utf8')
  return { path, files, log, file, read }
}

describe('AuditFile', () => {
  it('creates no file before the first line, and then a private one', async (t) => {
    const { path, file, read } = await setUp(t)
    await file.open()
    assert.deepEqual(await readdir(path), [])
    await file.append(['1\n'])
    assert.equal(await read(), '1\n')
    assert.equal((await stat(join(path, 'audit.jsonl'))).mode & 0o777, 0o600)
  })

  it('fills a file to the last byte, then rotates', async (t) => {
    const { path, file, read } = await setUp(t)
    for (const line of ['1234\n', '5678\n', '9\n']) await file.append([line])
    assert.deepEqual([await read('audit.1.jsonl'), await read()], ['1234\n5678\n', '9\n'])
    await file.append(['a'.repeat(20)])
    assert.deepEqual((await readdir(path)).sort(), ['audit.1.jsonl', 'audit.2.jsonl', 'audit.jsonl'])
    assert.equal(await read('audit.1.jsonl'), '9\n')
  })

  it('counts the bytes, not characters, and those already in the file', async (t) => {
    const { path, file, read } = await setUp(t)
    await writeFile(join(path, 'audit.jsonl'), 'ääää\n')
    await file.open()
    await file.append(['1\n'])
    assert.deepEqual([await read('audit.1.jsonl'), await read()], ['ääää\n', '1\n'])
  })

  it('appends to a file that another process creates at the same moment', async (t) => {
    const { path, files, file, read } = await setUp(t)
    files.before = async (operation) => {
      if (operation !== 'open') return
      files.before = () => {}
      await writeFile(join(path, 'audit.jsonl'), '1\n')
    }
    await file.append(['2\n'])
    assert.equal(await read(), '1\n2\n')
  })

  it('begins a new file if its own is removed, moved or replaced, and logs what was removed', async (t) => {
    const { path, file, read, log } = await setUp(t, 100)
    const at = (name: string) => join(path, name)
    await file.append(['1\n'])
    await rename(at('audit.jsonl'), at('moved'))
    await file.append(['2\n'])
    assert.deepEqual([await read('moved'), await read()], ['1\n', '2\n'])
    await writeFile(at('other'), 'half')
    await link(at('audit.jsonl'), at('kept'))
    await rename(at('other'), at('audit.jsonl'))
    await file.append(['3\n'])
    assert.deepEqual([await read('kept'), await read()], ['2\n', 'half\n3\n'])
    assert.deepEqual(log.lines, [])
    await rm(at('audit.jsonl'))
    await file.append(['4\n'])
    assert.equal(await read(), '4\n')
    assert.deepEqual(log.events, ['audit_file_removed'])
  })

  it('begins a new line after half a line, also if the file could not be opened at first', async (t) => {
    const { path, files, file, read } = await setUp(t, 100)
    await writeFile(join(path, 'audit.jsonl'), 'half', { mode: 0o600 })
    failOn(files, 'open', 'audit', 'EIO')
    await assert.rejects(file.open(), { code: 'EIO' })
    await file.append(['1\n'])
    assert.equal(await read(), 'half\n1\n')
  })

  it('goes on after a short write', async (t) => {
    const { files, file, read } = await setUp(t, 100)
    files.writeBytesMax = 2
    assert.deepEqual(await file.append(['ä4\n', '789\n']), { written: 2 })
    assert.equal(await read(), 'ä4\n789\n')
  })

  it('counts the whole lines before a failed write, and begins a new line after it', async (t) => {
    const { files, file, read } = await setUp(t, 100)
    let writes = 0
    files.writeBytesMax = 6
    files.before = (operation) => {
      if (operation === 'write' && ++writes === 2) throw systemError('ENOSPC')
    }
    const { written, error } = await file.append(['ä4\n', '789\n'])
    assert.deepEqual([written, systemCode(error)], [1, 'ENOSPC'])
    assert.deepEqual(await file.append(['789\n']), { written: 1 })
    assert.equal(await read(), 'ä4\n78\n789\n')
  })

  it('goes on in a copy when a sync has failed, and never syncs the same file again', async (t) => {
    const { path, files, file, read } = await setUp(t, 100)
    await file.append(['1\n'])
    const { ino } = await stat(join(path, 'audit.jsonl'))
    failOn(files, 'datasync', 'audit', 'EIO')
    await assert.rejects(file.sync(), { code: 'EIO' })
    files.before = () => {}
    files.calls.length = 0
    await file.sync()
    await file.append(['2\n'])
    await file.sync()
    assert.equal(await read(), '1\n2\n')
    assert.notEqual((await stat(join(path, 'audit.jsonl'))).ino, ino)
    assert.deepEqual((await readdir(path)).sort(), ['audit.jsonl'])
  })

  it('goes on in the same file when it cannot be renamed, and reports that', async (t) => {
    const { files, log, file, read } = await setUp(t)
    await file.append(['12345678\n'])
    failOn(files, 'rename', 'audit', 'EIO')
    await file.append(['9\n'])
    assert.deepEqual([await read(), log.events], ['12345678\n9\n', ['audit_not_rotated']])
  })

  for (const [what, lead] of [
    ['a symbolic link', symlink],
    ['a hard link', link],
  ] as const) {
    it(`writes nothing through ${what} to another file`, async (t) => {
      const { path, file } = await setUp(t)
      const elsewhere = join(await temporaryFolder(t), 'other')
      await writeFile(elsewhere, '')
      await lead(elsewhere, join(path, 'audit.jsonl'))
      await assert.rejects(file.open(), { code: 'folder_refused' })
      const { written, error } = await file.append(['1\n'])
      assert.ok(written === 0 && error instanceof FolderRefusedError)
      assert.equal(await readFile(elsewhere, 'utf8'), '')
    })
  }
})
