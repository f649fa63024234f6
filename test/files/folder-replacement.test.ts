import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { mkdir, readdir } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { describe, it } from 'node:test'
import { FolderRefusedError, systemCode } from '../../src/errors.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { finishReplacement, prepareReplacement } from '../../src/files/folder-replacement.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { createFailingFiles, systemError } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import {
  assertNeverHalfWay,
  fill,
  foreign,
  fresh,
  makeFolder,
  names,
  old,
  open,
  outcome,
  read,
  replace,
  settle,
  write,
} from './replaced-folder.ts'

describe('the replacement of the files in a folder', () => {
  it('puts the new files in place, sets the old ones aside, and leaves the rest alone', async (t) => {
    const folder = await makeFolder(t)
    const aside = await replace(folder, createFailingFiles())
    assert.match(basename(aside ?? ''), /^before-restore-\d{8}T\d{6}Z-[0-9a-f]{6}$/)
    assert.equal(outcome(folder, { ...old, ...foreign }), 'new')
    assert.deepEqual(read(aside ?? ''), old)
  })

  it('creates no folder for old files when there are none', async (t) => {
    const folder = await makeFolder(t, foreign)
    assert.equal(await replace(folder, createFailingFiles()), undefined)
    assert.deepEqual(read(folder), { ...foreign, ...fresh })
  })

  it('keeps what was set aside before', async (t) => {
    const folder = await makeFolder(t)
    const first = await replace(folder, createFailingFiles())
    const second = await replace(folder, createFailingFiles())
    assert.notEqual(first, second)
    assert.deepEqual(read(first ?? ''), old)
    assert.deepEqual(read(second ?? ''), fresh)
  })

  it('can be aborted before it is committed', async (t) => {
    const folder = await makeFolder(t)
    const replacement = await prepareReplacement(folder, realFileSystem)
    await fill(replacement.path, fresh)
    await replacement.abort()
    assert.deepEqual(read(folder), { ...old, ...foreign })
    assert.equal(await finishReplacement(folder, names, realFileSystem), undefined)
  })

  it('that root left unreadable to the owner of the folder blocks nobody', async (t) => {
    const folder = await temporaryFolder(t)
    const left = '.restore-20260102T030405Z-abcdef.tmp'
    await mkdir(join(folder, left))
    const files = createFailingFiles()
    files.before = (operation, path) => {
      if (operation === 'readdir' && path.endsWith(left)) throw systemError('EACCES', path)
    }
    const opened = await openDataFolder(folder, files)
    opened.release()
    assert.ok(!(await readdir(folder)).includes(left))
  })

  it('leaves the old or the new files, complete, when the process ends at any call, also during the completion', (t) =>
    assertNeverHalfWay(t, { completions: 6, alsoWhenOld: false }))

  it('leaves the old or the new files when any call fails, and the next opening completes it', async (t) => {
    let hasFailed = true
    const outcomes = new Set<string>()
    for (let failing = 0; hasFailed; failing += 1) {
      hasFailed = false
      const folder = await makeFolder(t)
      const before = read(folder)
      const files = createFailingFiles()
      let calls = 0
      let at = ''
      let isCommitted = false
      files.before = (operation, path) => {
        const isNow = calls++ === failing
        if (operation === 'rename' && path.endsWith('.begun') && !isNow) isCommitted = true
        if (!isNow) return
        hasFailed = true
        at = `${operation} ${relative(folder, path)}`
        throw systemError('EIO', path)
      }
      if (failing === 0) await assert.rejects(replace(folder, files))
      else await replace(folder, files).catch((error) => assert.equal(systemCode(error), 'EIO', at))
      await open(folder)
      const found = outcome(folder, before)
      assert.equal(found, isCommitted ? 'new' : 'old', at)
      outcomes.add(found)
    }
    assert.equal(outcomes.size, 2)
  })

  it('is completed later when any call of the completion fails', async (t) => {
    const prepared = await makeFolder(t)
    const before = read(prepared)
    const replacement = await prepareReplacement(prepared, realFileSystem)
    await fill(replacement.path, fresh)
    await replacement.commit()
    const committed = read(prepared)
    let hasFailed = true
    for (let failing = 0; hasFailed; failing += 1) {
      hasFailed = false
      const folder = join(await temporaryFolder(t), 'copy')
      write(folder, committed)
      for (let times = 0; times < 3; times += 1) {
        const files = createFailingFiles()
        let calls = 0
        files.before = () => {
          if (calls++ !== failing) return
          hasFailed = true
          throw systemError('EIO', folder)
        }
        await open(folder, files).catch((error: unknown) => {
          assert.ok(systemCode(error) === 'EIO' || error instanceof FolderRefusedError, String(error))
        })
      }
      assert.equal(await settle(folder, before), 'new')
    }
  })

  it('leaves foreign folders alone whose names resemble its own', async (t) => {
    const folder = await makeFolder(t)
    await mkdir(join(folder, 'restore-april'))
    await mkdir(join(folder, 'restore-april.begun.bak'))
    await mkdir(join(folder, '.restore-april'))
    await mkdir(join(folder, '.restore-april.tmp'))
    await mkdir(join(folder, 'restore-april.begun'))
    await mkdir(join(folder, 'restore-april.cleared'))
    const before = read(folder)
    await open(folder)
    assert.deepEqual(read(folder), before)
  })
})
