import '../support/node-version.ts'
import assert from 'node:assert/strict'
import '../support/light-argon2.ts'
import { mkdir, readdir, rm, rmdir, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { DamagedFileError, FolderRefusedError } from '../../src/errors.ts'
import { dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { keepStoreOf, nodeOf } from '../../src/state/node-folder.ts'
import { checkHasStarted, readBetweenRestores } from '../../src/state/used-folder.ts'
import { refusal } from '../files/refused-folder.ts'
import { runCommand } from '../support/command.ts'
import { start, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('readBetweenRestores', () => {
  it('reads again when the keys have changed, even with the same inode', async (t) => {
    const folder = await temporaryFolder(t)
    const keys = join(folder, dataFiles.keys)
    await writeFile(keys, '')
    let reads = 0
    const read = async () => {
      reads += 1
      if (reads === 1) await utimes(keys, 1, 1)
      return reads
    }
    assert.equal(await readBetweenRestores(dataPaths(folder), read), 2)
    assert.equal(await readBetweenRestores(dataPaths(folder), read), 3)
  })

  it('gives up when the keys keep changing, and while a restore is running', async (t) => {
    const folder = await temporaryFolder(t)
    const keys = join(folder, dataFiles.keys)
    await writeFile(keys, '')
    let reads = 0
    const read = async () => {
      reads += 1
      await utimes(keys, reads, reads)
    }
    await assert.rejects(readBetweenRestores(dataPaths(folder), read), FolderRefusedError)
    const restore = join(folder, 'restore-20260101T000000Z-012345.begun')
    const before = reads
    await mkdir(restore)
    await assert.rejects(readBetweenRestores(dataPaths(folder), read), FolderRefusedError)
    assert.equal(reads, before)
    await rmdir(restore)
  })
})

const neverStarted = (path: string) =>
  refusal(path, 'no server has ever started there', 'CONNBOOK_EXISTING', 'mount or name that folder')

describe('a start with --existing', () => {
  it('is refused where no folder is, and makes none', async (t) => {
    const parent = await temporaryFolder(t)
    const path = join(parent, 'data')
    const starting = start(t, { folder: path, flags: ['--existing'] })
    await assert.rejects(starting, refusal(path, 'there is no such folder', '--existing'))
    assert.deepEqual(await readdir(parent), [])
    await symlink('/nowhere', path)
    await assert.rejects(checkHasStarted(dataPaths(path), false), refusal(path, 'a link to "/nowhere"'))
  })

  it('is refused in an empty folder, which stays as it is', async (t) => {
    const path = join(await temporaryFolder(t), 'mount')
    await mkdir(path, { mode: 0o755 })
    const { mode } = await stat(path)
    await assert.rejects(start(t, { folder: path, flags: ['--existing'] }), neverStarted(path))
    assert.deepEqual(await readdir(path), [])
    assert.equal((await stat(path)).mode, mode)
  })

  it('is refused in a folder that only a command has filled', async (t) => {
    const path = join(await temporaryFolder(t), 'data')
    assert.equal((await runCommand(['user', 'add', 'eve', '--data', path], { input: 'a secret' })).code, 0)
    await assert.rejects(start(t, { folder: path, flags: ['--existing'] }), neverStarted(path))
  })

  it('works where a server has started, or where a restore was interrupted', async (t) => {
    const path = await usedFolder(t)
    await checkHasStarted(dataPaths(path), false)
    const server = await start(t, { folder: path, environment: {}, flags: ['--existing'] })
    assert.equal(server.madeUp, undefined)
    await server.stop()
    const half = await temporaryFolder(t)
    await mkdir(join(half, 'restore-20260101T000000Z-abcdef.begun'), { mode: 0o700 })
    await checkHasStarted(dataPaths(half), false)
  })

  it('says of a used folder without accounts that it is damaged', async (t) => {
    const path = await usedFolder(t)
    const server = await start(t, { folder: path, environment: {} })
    assert.equal((await server.call('/healthz')).status, 200)
    await server.stop()
    await rm(join(path, dataFiles.accounts))
    await writeFile(join(path, dataFiles.journal), 'damaged\n', { mode: 0o600 })
    await assert.rejects(checkHasStarted(dataPaths(path), false), DamagedFileError)
  })

  it('needs a node that was part of a cluster, when etcd has the records', async (t) => {
    const folder = dataPaths(await temporaryFolder(t))
    await assert.rejects(checkHasStarted(folder, true), neverStarted(folder.path))
    const node = await nodeOf(folder)
    await assert.rejects(checkHasStarted(folder, true), neverStarted(folder.path))
    await keepStoreOf(folder, node, 'b'.repeat(16))
    await checkHasStarted(folder, true)
    await assert.rejects(checkHasStarted(folder, false), refusal(folder.path, 'the folder of a node'))
  })
})
