import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, chown, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { FileSystem } from '../../src/files/file-system.ts'
import { replaceFile } from '../../src/files/replaced-file.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { ownerOf } from './owner.ts'

const never = new AbortController().signal

function replace(path: string, files: FileSystem) {
  return replaceFile(path, 'Cannot write', (write) => write('new'), never, files, true)
}

describe('a replaced file that keeps its access', () => {
  it('never changes the mode of a file that a link in its place points to', async (t) => {
    const place = await temporaryFolder(t)
    const [path, other] = [join(place, 'hosts.json'), join(place, 'other')]
    await writeFile(path, 'old')
    await chmod(path, 0o644)
    await writeFile(other, 'private', { mode: 0o600 })
    const files = createFailingFiles()
    files.before = async (operation) => {
      if (operation !== 'chmod') return
      await rm(path)
      await symlink(other, path)
    }
    await replace(path, files)
    assert.equal((await stat(other)).mode & 0o777, 0o600)
    assert.equal(await readFile(path, 'utf8'), 'new')
  })

  it('has its mode from the moment it has its name', async (t) => {
    const place = await temporaryFolder(t)
    const path = join(place, 'hosts.json')
    await writeFile(path, 'old')
    await chmod(path, 0o640)
    const files = createFailingFiles()
    failOn(files, 'chmod', '', 'EPERM')
    await assert.rejects(
      replace(path, files),
      /\(EPERM\); what was there before is untouched; run as the owner/,
    )
    assert.deepEqual([await readFile(path, 'utf8'), await readdir(place)], ['old', ['hosts.json']])
    files.before = () => {}
    await replace(path, files)
    assert.deepEqual([await readFile(path, 'utf8'), (await stat(path)).mode & 0o777], ['new', 0o640])
    assert.ok(
      files.calls.findLastIndex((call) => call.startsWith('chmod ')) <
        files.calls.findLastIndex((call) => call.startsWith('rename ')),
    )
  })

  it('keeps its owner and group when root replaces it', { skip: process.getuid?.() !== 0 }, async (t) => {
    const path = join(await temporaryFolder(t), 'hosts.json')
    await writeFile(path, 'old', { mode: 0o600 })
    await chown(path, 1234, 2345)
    const files = createFailingFiles()
    await replace(path, files)
    assert.deepEqual(await ownerOf(path), [1234, 2345])
    assert.equal((await stat(path)).mode & 0o777, 0o600)
    failOn(files, 'chown', '', 'EPERM')
    await assert.rejects(replace(path, files), /\(EPERM\); what was there before is untouched/)
  })
})
