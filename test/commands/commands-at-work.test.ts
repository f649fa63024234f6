import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import { dataFiles, dataPaths, takeLock } from '../../src/files/data-folder.ts'
import { LOCK_WAIT_MS } from '../../src/limits.ts'
import { runCommand } from '../support/command.ts'
import { start, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { photograph } from './photograph.ts'

/** Each look at the clock takes a while, so that commands soon give up. */
function hurry(t: TestContext) {
  const now = performance.now.bind(performance)
  let ahead = 0
  const { mock } = t.mock.method(performance, 'now', () => {
    ahead += LOCK_WAIT_MS / 4
    return now() + ahead
  })
  return mock
}

const lines = [
  'user add eve',
  'user passwd admin',
  'user set admin --read-only',
  'user remove admin',
  'user list',
  'client add ci',
  'client rotate script',
  'client list',
  'keys rotate',
  'keys revoke-all',
  'keys list',
  'export --format csv',
  'inventory --list',
  'backup -',
]

describe('a command that has a folder to itself', () => {
  it('keeps out the others, which name it and change nothing', async (t) => {
    const folder = await usedFolder(t)
    const held = await takeLock(dataPaths(folder), dataFiles.accountsLock)
    t.after(() => held?.release())
    const before = await photograph(folder)
    hurry(t)
    for (const line of lines) {
      const words = [...line.split(' '), '--data', folder]
      const { code, stdout, stderr } = await runCommand(words, { input: 'a secret' })
      assert.deepEqual([code, stdout], [75, ''], `${line}: ${stderr}`)
      const named = `"${folder}": another command has it (pid ${process.pid}, `
      assert.ok(stderr.includes(named) && stderr.endsWith('; try again when it has ended\n'), stderr)
    }
    assert.deepEqual(await photograph(folder), before)
  })

  it('is an import without a server, while it reads', async (t) => {
    const folder = await usedFolder(t)
    const input = new PassThrough()
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    const importing = runCommand(['import', '-', '--format', 'csv', '--data', folder], {
      openInput: () => {
        open()
        return input
      },
    })
    await opened
    const mock = hurry(t)
    for (const line of ['export --format csv', 'user remove admin']) {
      const { code, stderr } = await runCommand([...line.split(' '), '--data', folder])
      assert.equal(code, 75, stderr)
    }
    mock.restore()
    input.end('name,hostname,port,username\na,a.example,22,u\n')
    assert.equal((await importing).code, 0)
    const { stdout } = await runCommand(['export', '--format', 'csv', '--data', folder])
    assert.match(stdout, /\na,a\.example,22,u\r\n$/)
  })

  it('is none beside a server, whatever reads there', async (t) => {
    const { folder } = await start(t)
    hurry(t)
    for (const line of ['user list', 'keys list', 'export --format csv', 'inventory --list', 'backup -']) {
      const { code, stderr } = await runCommand([...line.split(' '), '--data', folder.path])
      assert.equal(code, 0, `${line}: ${stderr}`)
    }
  })

  it('is not looked for in a copy without its lock', async (t) => {
    const folder = await usedFolder(t)
    const lock = join(folder, dataFiles.accountsLock)
    await rm(lock, { force: true })
    const file = join(await temporaryFolder(t), 'backup.json')
    assert.equal((await runCommand(['backup', file, '--data', folder])).code, 0)
    assert.notEqual(await readFile(file, 'utf8'), '')
    await assert.rejects(readFile(lock), { code: 'ENOENT' })
  })
})
