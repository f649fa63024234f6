import '../support/node-version.ts'
import assert from 'node:assert/strict'
import fs, { constants } from 'node:fs'
import {
  chmod,
  chown,
  lchown,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { writeAtomicFile } from '../../src/files/atomic-file.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { prepareReplacement } from '../../src/files/folder-replacement.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { filesOf } from '../../src/files/owners-files.ts'
import { runAs, systemAccount } from '../../src/system-account.ts'
import { createFailingFiles } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { ownerOf } from './owner.ts'

/** The system knows no such account. */
const [UID, GID] = [1234, 2345]
const NOBODY = 65_534

/** A folder of another account, which others cannot get to, and one of root. */
async function setUp(t: TestContext) {
  const root = await temporaryFolder(t)
  const [above, outside] = [join(root, 'private'), join(root, 'outside')]
  const folder = join(above, 'data')
  await mkdir(above, { mode: 0o700 })
  for (const path of [folder, outside]) await mkdir(path, { mode: 0o700 })
  await chown(folder, UID, GID)
  return { root, above, folder, outside, file: (name: string) => join(folder, name) }
}

const skip = process.getuid?.() === 0 ? false : 'only root can work for another account'

describe('the files of a folder', () => {
  it('are reached as usual by any account but root, and by root in a folder of root', async (t) => {
    assert.equal(filesOf(await temporaryFolder(t)), realFileSystem)
  })
})

describe('the files of a folder of root, for root', { skip }, () => {
  it('are not reached, and the error names the folder, if the disk fails as it is closed', async (t) => {
    const folder = await temporaryFolder(t)
    const { closeSync } = fs
    const close = (fd: number) => {
      closeSync(fd)
      throw Object.assign(new Error('EIO: i/o error, close'), { code: 'EIO', syscall: 'close' })
    }
    t.mock.method(fs, 'closeSync', close, { times: 1 })
    assert.throws(() => filesOf(folder), { code: 'EIO', path: folder })
  })

  it('are reached by the next call, if the disk fails as the folder is looked at', async (t) => {
    const folder = await temporaryFolder(t)
    const look = () => {
      throw Object.assign(new Error('EIO: i/o error, fstat'), { code: 'EIO', syscall: 'fstat' })
    }
    t.mock.method(fs, 'fstatSync', look, { times: 1 })
    const [open, close] = [t.mock.method(fs, 'openSync'), t.mock.method(fs, 'closeSync')]
    assert.deepEqual(await filesOf(folder).readdir(folder), [])
    assert.equal(close.mock.callCount(), open.mock.callCount())
  })
})

describe('the files of a folder of another account, for root', { skip }, () => {
  it('are made for that account, below a folder to which it has no way', async (t) => {
    const { folder, file } = await setUp(t)
    const files = filesOf(folder)
    await files.mkdir(file('a'), 0o700)
    const made = await files.open(file('a/new'), 'wx+', 0o600)
    await made.write(Buffer.from('text'), 0, 4, 0)
    await made.sync()
    await made.close()
    await assert.rejects(made.sync(), { code: 'EBADF', path: file('a/new') })
    await writeAtomicFile(file('b'), 'text', files)
    await files.rename(file('a/new'), file('c'))
    await files.chmod(file('c'), 0o400)
    assert.deepEqual(await files.readdir(folder), ['a', 'b', 'c'])
    for (const path of ['a', 'b', 'c'].map(file)) assert.deepEqual(await ownerOf(path), [UID, GID])
    assert.equal(String(await files.readFile(file('b'))), 'text')
    assert.equal((await files.stat(file('c'))).size, 4)
    assert.equal((await files.lstat(folder)).ino, (await lstat(folder)).ino)
    await files.access(folder, constants.X_OK)
    await files.unlink(file('b'))
    await files.rmdir(file('a'))
    assert.deepEqual(await readdir(folder), ['c'])
  })

  it('belong to the own group of the account, not to that of the folder', async (t) => {
    const { folder, file } = await setUp(t)
    await chown(folder, NOBODY, 0)
    await writeAtomicFile(file('a'), '', filesOf(folder))
    assert.deepEqual(await ownerOf(file('a')), [NOBODY, NOBODY])
    await chown(folder, UID, 0)
    await rm(file('a'))
    await writeAtomicFile(file('a'), '', filesOf(folder))
    assert.deepEqual(await ownerOf(file('a')), [UID, NOBODY])
  })

  it('lead root through no link to what the account may not do', async (t) => {
    const { folder, outside, file } = await setUp(t)
    const files = filesOf(folder)
    await writeFile(join(outside, 'secret'), 'secret')
    await symlink(outside, file('link'))
    const denied = (path: string) => ({ code: 'EACCES', path, message: new RegExp(`'${path}`) })
    for (const flags of ['r', 'r+', 'a+', 'wx+', 'w']) {
      await assert.rejects(files.open(file('link/secret'), flags, 0o600), denied(file('link/secret')))
      await assert.rejects(files.open(file('link/new'), flags, 0o600), denied(file('link/new')))
    }
    await assert.rejects(files.readFile(file('link/secret')), denied(file('link/secret')))
    await assert.rejects(files.unlink(file('link/secret')), denied(file('link/secret')))
    await assert.rejects(files.readdir(file('link/')), { code: 'EACCES' })
    await assert.rejects(files.mkdir(file('link/new'), 0o700), denied(file('link/new')))
    await assert.rejects(files.rename(file('link/secret'), file('mine')), { code: 'EACCES' })
    await writeFile(file('own'), '')
    await assert.rejects(files.rename(file('own'), file('link/new')), { code: 'EACCES' })
    await symlink(join(outside, 'new'), file('lock'))
    await assert.rejects(files.lock(file('lock')), /it is no file of the owner of the folder/)
    await assert.rejects(
      files.reach(file('link/new'), (path) => fs.mkdirSync(path)),
      denied(file('link/new')),
    )
    assert.deepEqual(await readdir(outside), ['secret'])
    assert.equal(process.geteuid?.(), 0)
  })

  it('are those of the folder as it was opened, whatever takes its place', async (t) => {
    const { above, folder, outside, file } = await setUp(t)
    const files = filesOf(folder)
    await rename(folder, join(above, 'moved'))
    await symlink(outside, folder)
    await writeAtomicFile(file('a'), '', files)
    assert.deepEqual(await readdir(outside), [])
    assert.deepEqual(await readdir(join(above, 'moved')), ['a'])
  })

  it('are made in a new folder of the owner of the folder above', async (t) => {
    const { folder } = await setUp(t)
    const path = join(folder, 'data')
    const opened = await openDataFolder(path)
    t.after(() => opened.release())
    for (const made of [path, join(path, '.lock')]) assert.deepEqual(await ownerOf(made), [UID, GID])
  })

  it('are those of whoever makes a missing folder', async (t) => {
    const { root } = await setUp(t)
    const path = join(root, 'missing')
    const files = filesOf(path)
    await assert.rejects(files.lock(join(path, '.lock')), { code: 'ENOENT', path: join(path, '.lock') })
    await assert.rejects(files.open(join(path, 'a'), 'wx+'), { code: 'ENOENT' })
    await assert.rejects(files.stat(path), { code: 'ENOENT' })
    await mkdir(path)
    await chown(path, UID, GID)
    await writeAtomicFile(join(path, 'a'), '', files)
    const lock = await files.lock(join(path, '.lock'))
    lock?.release()
    for (const name of ['a', '.lock']) assert.deepEqual(await ownerOf(join(path, name)), [UID, GID])
  })

  it('are not made elsewhere when a link takes the place of a new folder', async (t) => {
    const { folder, outside, file } = await setUp(t)
    for (const part of ['data', '.restore-']) {
      const files = createFailingFiles(filesOf(folder))
      files.before = async (operation, path) => {
        if (operation === 'mkdir' || !path.includes(part)) return
        files.before = () => {}
        await rename(path, file(`moved ${part}`))
        await symlink(outside, path)
      }
      if (part === 'data')
        await assert.rejects(openDataFolder(file('data'), files), { code: 'folder_refused' })
      else
        await writeAtomicFile(join((await prepareReplacement(folder, files)).path, 'a'), '', files).catch(
          () => {},
        )
      assert.deepEqual(await readdir(outside), [])
    }
  })

  it('can be locked, also where the account has no way to the folder', async (t) => {
    const { folder, above, file } = await setUp(t)
    const files = filesOf(folder)
    for (const mode of [0o700, 0o711]) {
      await chmod(above, mode)
      const lock = (await files.lock(file('.lock'))) ?? assert.fail('it is held')
      assert.deepEqual(await ownerOf(file('.lock')), [UID, GID])
      assert.equal(await files.lock(file('.lock')), undefined)
      assert.equal(await realFileSystem.lock(file('.lock')), undefined)
      lock.release()
    }
    assert.deepEqual(await readdir(folder), ['.lock'])
  })

  it('are not locked by a file of root that has the name of the lock', async (t) => {
    const { folder, file } = await setUp(t)
    await writeFile(file('.lock'), '')
    await assert.rejects(filesOf(folder).lock(file('.lock')), /it is no file of the owner of the folder/)
  })
})

describe('a folder of root, for root', { skip }, () => {
  it('is refused behind a link of another account', async (t) => {
    const { root, outside } = await setUp(t)
    const link = join(root, 'data')
    await symlink(outside, link)
    assert.equal(filesOf(link), realFileSystem)
    await lchown(link, UID, GID)
    assert.throws(() => filesOf(link), {
      code: 'folder_refused',
      message: `Cannot use "${link}": it is a link of another account, and leads to a folder of root (owner ${UID}, mode 0777); name the folder itself, or run: chown -h root '${link}'`,
    })
  })

  it('is used as it was opened if another account could exchange it', async (t) => {
    const { folder, outside, file } = await setUp(t)
    await mkdir(file('data'), { mode: 0o700 })
    const files = filesOf(file('data'))
    await rename(file('data'), file('moved'))
    await symlink(outside, file('data'))
    await writeAtomicFile(file('data/a'), '', files)
    await assert.rejects(files.lock(file('data/.lock')), { code: 'ERR_SQLITE_ERROR' })
    assert.deepEqual(await readdir(outside), [])
    await writeFile(join(outside, '.lock'), '')
    await assert.rejects(files.lock(file('data/.lock')), /another file has taken its place/)
    assert.deepEqual((await readdir(file('moved'))).sort(), ['.lock', 'a'])
    assert.deepEqual(await ownerOf(file('moved/a')), [0, 0])
    await rm(file('data'))
    await rename(file('moved'), file('data'))
    const lock = await files.lock(file('data/.lock'))
    lock?.release()
    assert.equal(await readFile(join(folder, 'data/a'), 'utf8'), '')
  })
})

describe('the rights of another account', { skip }, () => {
  it('end with the call, also if it throws, and are its groups, too', () => {
    const groups = process.getgroups?.()
    const account = { uid: UID, gid: GID }
    const rights = () => [process.geteuid?.(), process.getegid?.(), process.getgroups?.()]
    assert.deepEqual(runAs(account, rights), [UID, GID, [GID]])
    assert.throws(() =>
      runAs(account, () => {
        throw new Error('as it happens')
      }),
    )
    assert.deepEqual(rights(), [0, 0, groups])
  })

  it('change nothing in the name of the account that runs this process', async (t) => {
    const { folder } = await setUp(t)
    filesOf(folder)
    assert.equal(runAs({ uid: NOBODY, gid: NOBODY }, systemAccount), userInfo().username)
  })
})
