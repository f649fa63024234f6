import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod, chown, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { LoginsRefusedError, loginsOf } from '../../src/client/logins.ts'
import { DamagedFileError } from '../../src/errors.ts'
import { seal } from '../../src/files/json-document.ts'
import { createFailingFiles } from '../support/failing-files.ts'
import { type FolderImage, readImage, writeImage } from '../support/folder-image.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const login = (server: string, cookie = 'c=1') => ({ server, user: 'eve', cookie })

async function setUp(t: TestContext) {
  const state = await temporaryFolder(t)
  const logins = loginsOf({ XDG_STATE_HOME: state })
  const write = async (text: string, mode = 0o600) => {
    await mkdir(dirname(logins.path), { recursive: true })
    await writeFile(logins.path, text)
    await chmod(logins.path, mode)
  }
  return { state, logins, write }
}

const sealed = (content: unknown) =>
  JSON.stringify(seal({ format: 'connbook sessions', version: 1 }, content))
const refused = (about: RegExp) => (error: unknown) =>
  error instanceof LoginsRefusedError && about.test(error.message)

describe('kept logins', () => {
  it('are in the folder that XDG names, or else below the home', () => {
    assert.equal(loginsOf({ XDG_STATE_HOME: '/s', HOME: '/h' }).path, '/s/connbook/sessions.json')
    assert.equal(loginsOf({ HOME: '/h' }).path, '/h/.local/state/connbook/sessions.json')
    // The specification has relative paths ignored.
    assert.equal(loginsOf({ XDG_STATE_HOME: 's', HOME: '/h' }).path, '/h/.local/state/connbook/sessions.json')
  })

  it('are one for each server, and nobody else can read them', async (t) => {
    const { logins } = await setUp(t)
    assert.deepEqual(await logins.list(), [])
    await logins.keep(login('http://a'))
    await logins.keep({ ...login('http://b'), authorities: '/ca.pem', isPlain: true })
    await logins.keep(login('http://a', 'c=2'))
    const kept = [{ ...login('http://b'), authorities: '/ca.pem', isPlain: true }, login('http://a', 'c=2')]
    assert.deepEqual(await logins.list(), kept)
    assert.equal((await stat(logins.path)).mode & 0o777, 0o600)
    assert.equal((await stat(dirname(logins.path))).mode & 0o777, 0o700)
    await logins.forget('http://b')
    await logins.forget('http://none')
    assert.deepEqual(await logins.list(), [login('http://a', 'c=2')])
  })

  it('are all kept when many commands keep one at the same time', async (t) => {
    // No command gives up, however busy the machine is.
    t.mock.method(performance, 'now', () => 0)
    const { state } = await setUp(t)
    const servers = Array.from({ length: 8 }, (_, i) => `http://server-${i}`)
    await Promise.all(servers.map((server) => loginsOf({ XDG_STATE_HOME: state }).keep(login(server))))
    const kept = await loginsOf({ XDG_STATE_HOME: state }).list()
    assert.deepEqual(kept.map(({ server }) => server).toSorted(), servers.toSorted())
  })

  it('are not read from a file that others may read or write, and the message says how to go on', async (t) => {
    const { logins, write } = await setUp(t)
    for (const mode of [0o640, 0o604, 0o620, 0o602]) {
      await write(sealed([]), mode)
      await assert.rejects(logins.list(), refused(/others may read or write it .*chmod 600 '/))
      await assert.rejects(logins.keep(login('http://a')), refused(/chmod 600/))
    }
    assert.equal(await readFile(logins.path, 'utf8'), sealed([]))
  })

  it('are not read from a file of another account', {
    skip: process.getuid?.() !== 0 && 'only root makes one',
  }, async (t) => {
    const { logins, write } = await setUp(t)
    await write(sealed([]))
    await chown(logins.path, 54_321, 54_321)
    await assert.rejects(logins.list(), refused(/belongs to another account \(owner 54321/))
  })

  it('are not read from a link, from a damaged file, or from one of a newer connbook', async (t) => {
    const { state, logins, write } = await setUp(t)
    const damaged = (about: RegExp) => (error: unknown) =>
      error instanceof DamagedFileError && about.test(error.message)
    for (const text of [
      '',
      '{',
      sealed([]).replace('sessions', 'session'),
      sealed({}),
      sealed([{ server: 'x' }]),
    ]) {
      await write(text)
      await assert.rejects(logins.list(), damaged(/log in again with "connbook login URL"/))
    }
    await write(sealed([{ ...login('http://a'), more: 1 }]))
    await assert.rejects(logins.list(), damaged(/written by a newer connbook/))
    const other = await setUp(t)
    await mkdir(dirname(other.logins.path), { recursive: true })
    await writeFile(join(state, 'elsewhere'), sealed([]))
    await symlink(join(state, 'elsewhere'), other.logins.path)
    const message =
      /it is a symbolic link \(owner .+\); put the file itself there, or point XDG_STATE_HOME at/
    await assert.rejects(other.logins.list(), { name: 'LoginsRefusedError', message })
  })

  it('are whole when a command that changes them is killed, before each thing that it does with files', async (t) => {
    const { state, logins } = await setUp(t)
    const [before, changed] = [login('http://a'), login('http://b')]
    await logins.keep(before)
    const files = createFailingFiles()
    files.writeBytesMax = 64
    const images: FolderImage[] = []
    files.before = async () => {
      images.push(await readImage(dirname(logins.path)))
    }
    await loginsOf({ XDG_STATE_HOME: state }, files).keep(changed)
    images.push(await readImage(dirname(logins.path)))
    const seen = new Set<number>()
    for (const image of images) {
      await writeImage(dirname(logins.path), image)
      const kept = await logins.list()
      assert.deepEqual(kept, [before, changed].slice(0, kept.length))
      seen.add(kept.length)
      // The next command is not held up by what was left, and removes it.
      await logins.forget(changed.server)
      assert.deepEqual((await readdir(dirname(logins.path))).toSorted(), ['.sessions-lock', 'sessions.json'])
    }
    assert.deepEqual([...seen].toSorted(), [1, 2])
  })
})
