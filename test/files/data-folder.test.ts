import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { FolderInUseError } from '../../src/errors.ts'
import { checkDataFolder, dataFiles, dataPaths } from '../../src/files/data-folder.ts'
import { openDataFolder } from '../../src/files/owned-folder.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { assertOnlyPlainFiles, mode, refusal } from './refused-folder.ts'

async function openUntilEnd(t: TestContext, path: string) {
  const folder = await openDataFolder(path)
  t.after(() => folder.release())
  return folder
}

describe('opening a data folder', () => {
  it('creates it, private, and makes its name durable', async (t) => {
    const root = await temporaryFolder(t)
    const path = join(root, 'data')
    const files = createFailingFiles()
    const folder = await openDataFolder(path, files)
    t.after(() => folder.release())
    assert.equal(await mode(path), '700')
    const synced = files.calls.filter((call) => call.startsWith('sync ')).map((call) => call.slice(5))
    assert.deepEqual(synced, [root, path])
    assert.equal(folder.path, path)
    assert.equal(folder.file(dataFiles.journal), join(path, 'journal.jsonl'))
  })

  it('makes no parents, which are missing where a disk is not mounted', async (t) => {
    const root = await temporaryFolder(t)
    const path = join(root, 'mnt', 'disk', 'data')
    const words = [`there is no folder "${join(root, 'mnt', 'disk')}"`, 'mount or make that one', '--data']
    await assert.rejects(openDataFolder(path), refusal(path, ...words))
    assert.deepEqual(await readdir(root), [])
  })

  it('names a link to nothing, also on the way, and what it leads to', async (t) => {
    const root = await temporaryFolder(t)
    const link = join(root, 'link')
    for (const target of ['/nowhere/at/all', 'link']) {
      await symlink(target, link)
      for (const path of [link, join(link, 'data')]) {
        const words = [`it is a link to "${target}", and nothing is there`, 'mount or make that folder']
        await assert.rejects(openDataFolder(path), refusal(link, ...words))
      }
      await rm(link)
    }
  })

  it('follows a link to a folder', async (t) => {
    const link = join(await temporaryFolder(t), 'link')
    await symlink(await temporaryFolder(t), link)
    await openUntilEnd(t, link)
  })

  it('succeeds for one process at a time, and again after the release', async (t) => {
    const path = await temporaryFolder(t)
    const first = await openUntilEnd(t, path)
    await assert.rejects(openDataFolder(path, undefined, { lockWaitMs: 0 }), (error) => {
      return error instanceof FolderInUseError && error.message.includes(`"${path}"`)
    })
    first.release()
    first.release()
    await openUntilEnd(t, path)
  })

  it('takes no lock whose file another process has removed, or replaced, meanwhile', async (t) => {
    for (const isReplaced of [false, true]) {
      const path = await temporaryFolder(t)
      const lockPath = join(path, dataFiles.lock)
      await writeFile(lockPath, '', { mode: 0o600 })
      const real = createFailingFiles()
      let locks = 0
      const lock = async (name: string) => {
        const taken = await real.lock(name)
        locks += 1
        if (locks > 1) return taken
        rmSync(lockPath)
        if (isReplaced) writeFileSync(lockPath, '', { mode: 0o600 })
        return taken
      }
      const folder = await openDataFolder(path, { ...real, lock })
      t.after(() => folder.release())
      assert.equal(locks, 2)
      await assert.rejects(openDataFolder(path, real, { lockWaitMs: 0 }), FolderInUseError)
    }
  })

  it('makes it again when another process, which had made it for nothing, removes it meanwhile', async (t) => {
    for (const moment of ['access', 'lock']) {
      const path = join(await temporaryFolder(t), 'data')
      let times = 1
      const remove = (operation: string) => {
        if (operation === moment && times-- > 0) rmSync(path, { recursive: true })
      }
      const real = createFailingFiles()
      real.before = remove
      const lock = (name: string) => {
        remove('lock')
        return real.lock(name)
      }
      const folder = await openDataFolder(path, { ...real, lock })
      t.after(() => folder.release())
      assert.deepEqual(await readdir(path), [dataFiles.lock])
      assert.equal(await mode(path), '700')
    }
  })

  it('sweeps what killed writers of its files left, and nothing else', async (t) => {
    const path = await temporaryFolder(t)
    const temporary = (name: string) => join(path, `.${name}.0123456789ab.tmp`)
    const left = [
      ...['accounts.json', 'initial-credentials.json', 'journal.jsonl', 'journal.old.jsonl', 'keys.json'],
      ...['revocations.jsonl', 'snapshot.json'],
    ]
    for (const name of [...left, 'other.json']) await writeFile(temporary(name), '')
    await openUntilEnd(t, path)
    const entries = await readdir(path)
    assert.deepEqual(
      entries.filter((name) => name.endsWith('.tmp')).map((name) => join(path, name)),
      [temporary('other.json')],
    )
  })

  it('removes the second lock file of an older connbook, unless it is no plain file', async (t) => {
    const path = await temporaryFolder(t)
    const old = join(path, '.accounts-lock')
    await writeFile(old, 'left', { mode: 0o600 })
    ;(await openDataFolder(path)).release()
    assert.deepEqual(await readdir(path), ['.lock'])
    await mkdir(old)
    await assert.rejects(openDataFolder(path), refusal(old, 'it is not a plain file'))
  })

  it('releases the lock when the sweep fails', async (t) => {
    const path = await temporaryFolder(t)
    const files = createFailingFiles()
    await writeFile(join(path, '.journal.jsonl.0123456789ab.tmp'), '')
    failOn(files, 'unlink', '', 'EIO')
    await assert.rejects(openDataFolder(path, files), { code: 'EIO' })
    await openUntilEnd(t, path)
  })

  it('is refused without taking the lock when the folder cannot be written', async (t) => {
    const path = await temporaryFolder(t)
    for (const [code, shown] of [
      ['EACCES', 'mode 0700'],
      ['EPERM', 'mode 0700'],
      ['EROFS', 'mount it for writing'],
    ] as const) {
      const files = createFailingFiles()
      failOn(files, 'access', '', code)
      await assert.rejects(openDataFolder(path, files), refusal(path, code, shown))
    }
    assert.deepEqual(await readdir(path), [])
  })

  it('is refused with the path of the lock file when that is not a lock file', async (t) => {
    const path = await temporaryFolder(t)
    const lock = join(path, dataFiles.lock)
    await writeFile(lock, 'garbage '.repeat(200))
    await assert.rejects(
      openDataFolder(path),
      refusal(lock, 'not a database', 'mode 0600', 'remove the file'),
    )
  })

  it('leaves foreign files alone', async (t) => {
    const path = await temporaryFolder(t)
    await writeFile(join(path, 'notes.txt'), 'mine', { mode: 0o644 })
    await symlink('/nowhere', join(path, 'link'))
    await openUntilEnd(t, path)
    assert.ok((await readdir(path)).includes('notes.txt'))
  })
})

describe('a folder that is open to others', () => {
  for (const entries of [[], ['.gitkeep'], ['.gitignore', 'lost+found']]) {
    it(`is made private when it holds ${entries.join(' and ') || 'nothing'}`, async (t) => {
      const path = await temporaryFolder(t)
      for (const entry of entries) await writeFile(join(path, entry), '')
      await chmod(path, 0o755)
      await openUntilEnd(t, path)
      assert.equal(await mode(path), '700')
    })
  }

  it('is left unchanged when everybody may write to it, even if it is empty', async (t) => {
    const path = await temporaryFolder(t)
    await chmod(path, 0o1777)
    await assert.rejects(
      openDataFolder(path),
      refusal(path, 'mode 1777', `such as '${join(path, 'connbook')}'`),
    )
    assert.equal(await mode(path), '1777')
  })

  for (const name of [
    'audit.jsonl',
    'audit.4.jsonl',
    'journal.torn-12-abcdef',
    '.keys.json.0123456789ab.tmp',
    'before-restore-20260101T000000Z-abcdef',
  ]) {
    it(`is refused even when it holds only ${name}`, async (t) => {
      const path = await temporaryFolder(t)
      const entry = join(path, name)
      const isFolder = name.startsWith('before')
      if (isFolder) await mkdir(entry)
      else await writeFile(entry, '')
      await chmod(entry, isFolder ? 0o755 : 0o644)
      const command = `run: chmod ${isFolder ? 700 : 600} '${entry}'`
      await assert.rejects(openDataFolder(path), refusal(entry, 'others can get at it', command))
    })
  }

  it('is used when it holds only unknown files', async (t) => {
    const path = await temporaryFolder(t)
    for (const name of ['restore-notes.txt', 'before-restore-friday', 'journal.torn-off', 'x.tmp']) {
      await writeFile(join(path, name), '')
      await chmod(join(path, name), 0o644)
    }
    await openUntilEnd(t, path)
  })

  it('is refused, with the command that fixes it, when it holds data', async (t) => {
    const path = await temporaryFolder(t)
    await writeFile(join(path, 'keys.json'), '')
    for (const [bits, shown] of [
      [0o701, '0701'],
      [0o710, '0710'],
      [0o755, '0755'],
      [0o1777, '1777'],
    ] as const) {
      await chmod(path, bits)
      const uid = process.getuid?.()
      await assert.rejects(
        openDataFolder(path),
        refusal(path, `(owner ${uid}, mode ${shown})`, `run: chmod 700 '${path}'`),
      )
      assert.equal(await mode(path), bits.toString(8))
    }
  })

  it('is refused when it is empty but belongs to another user', {
    skip: process.getuid?.() !== 0,
  }, async (t) => {
    const path = await temporaryFolder(t)
    await chown(path, 1234, 1234)
    await chmod(path, 0o755)
    await assert.rejects(
      openDataFolder(path),
      refusal(path, '(owner 1234, mode 0755)', `run: chmod 700 '${path}'`),
    )
    assert.equal(await mode(path), '755')
    await chmod(path, 0o700)
    ;(await openDataFolder(path)).release()
  })

  it('is refused when the disk cannot read it', async (t) => {
    const path = await temporaryFolder(t)
    const files = createFailingFiles()
    failOn(files, 'readdir', '', 'EACCES')
    await assert.rejects(checkDataFolder(dataPaths(path, files)), refusal(path, 'it cannot be read (EACCES)'))
  })

  it('cannot be created in the place of a file, or without permission', async (t) => {
    const path = await temporaryFolder(t)
    const file = join(path, 'file')
    await writeFile(file, '')
    await assert.rejects(openDataFolder(file), refusal(file))
    await assert.rejects(openDataFolder(join(file, 'data')), refusal(join(file, 'data'), 'ENOTDIR', '--data'))
    const files = createFailingFiles()
    failOn(files, 'mkdir', '', 'EACCES')
    await assert.rejects(
      openDataFolder(join(path, 'data'), files),
      refusal(join(path, 'data'), 'EACCES', '--data'),
    )
  })
})

describe('a data file', () => {
  const places: Record<string, (path: string) => unknown> = {
    'a folder': (path) => mkdir(path),
    'a symbolic link to a file': async (path) => {
      await writeFile(`${path}.target`, '', { mode: 0o600 })
      await symlink(`${path}.target`, path)
    },
    'a symbolic link to nothing': (path) => symlink('/nowhere/at/all', path),
  }
  for (const [kind, place] of Object.entries(places))
    it(`is refused when it is ${kind}, for every data file`, (t) => assertOnlyPlainFiles(t, place))

  it('is refused, with the command that fixes it, when others can access it', async (t) => {
    for (const name of Object.values(dataFiles)) {
      const path = await temporaryFolder(t)
      const file = join(path, name)
      await writeFile(file, '')
      for (const bits of [0o604, 0o640, 0o601, 0o666]) {
        await chmod(file, bits)
        const shown = `mode 0${bits.toString(8)}`
        await assert.rejects(openDataFolder(path), refusal(file, shown, `run: chmod 600 '${file}'`))
      }
      for (const bits of [0o600, 0o400]) {
        await chmod(file, bits)
        await checkDataFolder(dataPaths(path))
      }
    }
  })
})
