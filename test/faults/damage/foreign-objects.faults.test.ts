import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, lstat, mkdir, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { FolderRefusedError } from '../../../src/errors.ts'
import { dataFiles } from '../../../src/files/data-folder.ts'
import { runCommand } from '../../support/command.ts'
import { runExecutable, startExecutable } from '../../support/executable.ts'
import { writeImage } from '../../support/folder-image.ts'
import { createClient } from '../../support/http-client.ts'
import { noNamespaces, withReadOnly } from '../../support/namespace.ts'
import { asPlainAccount, giveToPlainAccount } from '../../support/plain-account.ts'
import { prepareFolders } from '../../support/prepared-folder.ts'
import { start } from '../../support/service.ts'
import { draft } from '../../support/store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const TIMEOUT_MS = 30_000

const { compacting: prepared } = await prepareFolders({ after })

/** A used data folder with every possible file. */
async function usedFolder(t: TestContext): Promise<string> {
  const folder = join(await temporaryFolder(t), 'data')
  await writeImage(folder, prepared.image)
  return folder
}

/** Everything visible of a folder without opening what would block. */
async function listing(folder: string): Promise<string[]> {
  const lines: string[] = []
  for (const name of (await readdir(folder, { recursive: true })).sort()) {
    const path = join(folder, name)
    const found = await lstat(path)
    const { mode, size, ino } = found
    let content = ''
    if (found.isSymbolicLink()) content = await readlink(path)
    else if (found.isFile()) content = (await readFile(path)).toString('base64')
    lines.push(`${name} ${mode.toString(8)} ${found.isDirectory() ? '' : size} ${ino} ${content}`)
  }
  return lines
}

async function listen(t: TestContext, path: string) {
  const server = createServer().listen(path)
  t.after(() => void server.close())
  await once(server, 'listening')
  await chmod(path, 0o600)
}

const objects: Record<string, (path: string, t: TestContext) => unknown> = {
  'a folder': (path) => mkdir(path, 0o700),
  'a folder with something in it': async (path) => {
    await mkdir(path, 0o700)
    await writeFile(join(path, 'file'), 'mine')
  },
  'a fifo': (path) => execFileSync('mkfifo', ['-m', '600', path]),
  'a symbolic link to a good file': async (path) => {
    const target = `${path}.target`
    await writeFile(target, prepared.image.get(path.slice(path.lastIndexOf('/') + 1)) ?? '')
    await symlink(target, path)
  },
  'a symbolic link to nothing': (path) => symlink('/nowhere/at/all', path),
  'a symbolic link to /dev/zero': (path) => symlink('/dev/zero', path),
  'a socket': (path, t) => listen(t, path),
}

/** A refusal names the path, its owner and mode, and what to do. */
function assertRefuses(message: string, path: string, mode: number) {
  const shown = (mode & 0o7777).toString(8).padStart(4, '0')
  assert.ok(message.includes(`Cannot use "${path}": `), message)
  assert.match(message, new RegExp(`\\(owner \\d+, mode ${shown}\\); \\S+`))
}

describe('in the place of a data file', { timeout: TIMEOUT_MS }, () => {
  for (const [kind, place] of Object.entries(objects)) {
    it(`${kind} is refused with its path, owner and mode, and nothing changes`, async (t) => {
      for (const name of Object.values(dataFiles)) {
        const folder = await usedFolder(t)
        const path = join(folder, name)
        await rm(path, { force: true })
        await place(path, t)
        const [before, { mode }] = [await listing(folder), await lstat(path)]
        await assert.rejects(start(t, { folder, environment: {} }), (error) => {
          assert.ok(error instanceof FolderRefusedError, String(error))
          assertRefuses(error.message, path, mode)
          return true
        })
        assert.deepEqual(await listing(folder), before, name)
      }
    })
  }

  it('a fifo is refused by the server and by commands in one line, and blocks neither', async (t) => {
    for (const name of [dataFiles.journal, dataFiles.accounts, dataFiles.lock]) {
      const folder = await usedFolder(t)
      const path = join(folder, name)
      await rm(path)
      execFileSync('mkfifo', ['-m', '600', path])
      const before = await listing(folder)
      for (const words of ['--port 0', 'client add ci']) {
        const { code, stdout, stderr } = await runExecutable([...words.split(' '), '--data', folder])
        assert.deepEqual([code, stdout], [1, ''])
        assert.match(stderr, /^connbook: [^\n]+\n$/)
        assertRefuses(stderr, path, 0o600)
      }
      assert.deepEqual(await listing(folder), before, name)
    }
  })
})

describe('under the name of a temporary file', { timeout: TIMEOUT_MS }, () => {
  const names = [dataFiles.journal, dataFiles.snapshot, dataFiles.revocations]
  const temporaryName = (name: string) => `.${name}.0123456789ab.tmp`

  for (const kind of ['a fifo', 'a symbolic link to nothing', 'a symbolic link to /dev/zero', 'a socket']) {
    it(`${kind} is removed`, async (t) => {
      const folder = await usedFolder(t)
      for (const name of names) await objects[kind]?.(join(folder, temporaryName(name)), t)
      await (await start(t, { folder, environment: {} })).stop()
      assert.deepEqual(
        (await readdir(folder)).filter((name) => name.endsWith('.tmp')),
        [],
      )
    })
  }

  it("a symbolic link to somebody else's file is removed, and the file stays", async (t) => {
    const folder = await usedFolder(t)
    const target = join(folder, '..', 'mine')
    await writeFile(target, 'mine')
    await symlink(target, join(folder, temporaryName(dataFiles.journal)))
    await (await start(t, { folder, environment: {} })).stop()
    assert.equal(await readFile(target, 'utf8'), 'mine')
  })

  for (const kind of ['a folder', 'a folder with something in it']) {
    it(`${kind} belongs to somebody else and stays`, async (t) => {
      const folder = await usedFolder(t)
      for (const name of names) await objects[kind]?.(join(folder, temporaryName(name)), t)
      const temporaries = async () =>
        (await readdir(folder, { recursive: true })).filter((name) => name.includes('.tmp'))
      const before = await temporaries()
      await (await start(t, { folder, environment: {} })).stop()
      assert.deepEqual(await temporaries(), before)
    })
  }
})

describe('files and folders of somebody else', () => {
  it('stay as they are, byte for byte, whatever the service does', async (t) => {
    const folder = await usedFolder(t)
    const own = new Set(await readdir(folder))
    await mkdir(join(folder, 'notes', 'deep'), { recursive: true })
    await writeFile(join(folder, 'notes', 'deep', 'journal.jsonl'), 'mine')
    for (const name of ['journal.jsonl~', '.journal.jsonl.swp', 'snapshot.json.bak', 'accounts.json.orig'])
      await writeFile(join(folder, name), `${name} is mine\0`, { mode: 0o644 })
    for (const name of [
      '.journal.jsonl.0123456789a.tmp',
      '.other.json.0123456789ab.tmp',
      'journal.torn-5-abcdef',
    ])
      await writeFile(join(folder, name), 'mine')
    await symlink('/nowhere', join(folder, 'link'))
    execFileSync('mkfifo', [join(folder, 'fifo')])
    const foreign = async () =>
      (await listing(folder)).filter((line) => !own.has(line.slice(0, line.indexOf(' '))))
    const before = await foreign()
    assert.equal(before.length, 12)

    const server = await startExecutable(t, ['--data', folder])
    const ask = createClient(server.url, prepared.credentials[0])
    assert.equal((await ask('POST', '/configurations/', { body: draft('one more') })).status, 200)
    assert.equal((await runExecutable(['client', 'add', 'ci', '--data', folder])).code, 0)
    assert.equal(await server.stop(), 0)
    assert.deepEqual(await foreign(), before)
  })
})

describe('a file with a wrong mode', { timeout: TIMEOUT_MS }, () => {
  const rows = [
    { modes: [0o000, 0o200, 0o100], names: [dataFiles.accounts, dataFiles.keys] },
    {
      modes: [0o000, 0o200, 0o400],
      names: [dataFiles.journal, dataFiles.journalOld, dataFiles.revocations],
    },
    { modes: [0o000, 0o200], names: [dataFiles.snapshot] },
    { modes: [0o000, 0o200], names: [dataFiles.lock] },
  ]
  for (const { modes, names } of rows) {
    for (const name of names) {
      it(`is refused with its path, owner, mode and a command to repair it: ${name}`, async (t) => {
        const folder = await usedFolder(t)
        const path = join(folder, name)
        await giveToPlainAccount(join(folder, '..'))
        await giveToPlainAccount(folder)
        for (const mode of modes) {
          await chmod(path, mode)
          const before = await listing(folder)
          const { code, stdout, stderr } = await runExecutable(['--port', '0', '--data', folder], {
            through: asPlainAccount,
          })
          assert.deepEqual([code, stdout], [1, ''], stderr)
          assert.match(stderr, /^connbook: [^\n]+\n$/)
          assertRefuses(stderr, path, mode)
          assert.deepEqual(await listing(folder), before)
        }
      })
    }
  }

  it('is refused by the server and by commands if others have access', async (t) => {
    const folder = await usedFolder(t)
    for (const name of [dataFiles.keys, dataFiles.journalOld, dataFiles.initialCredentials]) {
      const path = join(folder, name)
      await chmod(path, 0o640)
      const before = await listing(folder)
      for (const words of ['--port 0', 'client list']) {
        const run = name === dataFiles.keys ? runExecutable : runCommand
        const { code, stderr } = await run([...words.split(' '), '--data', folder])
        assert.equal(code, 1)
        assertRefuses(stderr, path, 0o640)
        assert.ok(stderr.endsWith(`; run: chmod 600 '${path}'\n`), stderr)
      }
      assert.deepEqual(await listing(folder), before)
      await chmod(path, 0o600)
    }
  })
})

describe('a file system that is mounted read-only', { skip: noNamespaces }, () => {
  it('is refused by the server and by commands that change accounts, and can be read', async (t) => {
    const folder = await usedFolder(t)
    const through = withReadOnly(folder)
    const before = await listing(folder)
    for (const words of ['--port 0', 'client add ci', 'user remove admin']) {
      const { code, stdout, stderr } = await runExecutable([...words.split(' '), '--data', folder], {
        through,
      })
      assert.deepEqual([code, stdout], [1, ''], stderr)
      assert.match(
        stderr,
        /^connbook: Cannot use "[^\n]+ the file system is read-only \(\w+: EROFS\); mount it for writing[^\n]+\n$/,
      )
      assert.ok(stderr.includes(`Cannot use "${folder}": `), stderr)
    }
    const list = await runExecutable(['client', 'list', '--data', folder], { through })
    assert.deepEqual([list.code, list.stdout], [0, 'default\nsecond\n'], list.stderr)
    assert.deepEqual(await listing(folder), before)
  })
})
