import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, chown, lstat, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { ownerSocketPath } from '../../src/files/data-folder.ts'
import { getToken } from '../support/api.ts'
import { runExecutable, startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { asPlainAccount, giveToPlainAccount, plainAccount } from '../support/plain-account.ts'
import { client, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeUsedFolder } from './kept-state.ts'

const HEADER = 'name,hostname,port,username\n'
const RECORDS = 100_000
const isRoot = process.getuid?.() === 0
const onlyRoot = isRoot ? false : 'only root can be another account'

function runImport(folder: string, rows: string, { through = [] as readonly string[] } = {}) {
  return runExecutable(['import', '-', '--format', 'csv', '--data', folder], {
    input: HEADER + rows,
    through,
  })
}

const done = (folder: string, added: number) =>
  `Imported to ${folder}: ${added} added, 0 modified, 0 removed, 0 unchanged\n`

/** A folder of the plain account, which it can reach. */
async function plainFolder(t: TestContext) {
  const folder = await usedFolder(t)
  await giveToPlainAccount(folder)
  await chmod(dirname(folder), 0o755)
  return folder
}

describe('connbook import beside a server', () => {
  it('imports a large file, and no other caller fails meanwhile', async (t) => {
    const folder = await usedFolder(t)
    const server = await startExecutable(t, ['--data', folder])
    const ask = createClient(server.url, await getToken(server.url, client))
    const rows = Array.from({ length: RECORDS }, (_, i) => `n${i},host${i}.example,22,ops\n`).join('')
    let isOver = false
    const importing = runImport(folder, rows).finally(() => {
      isOver = true
    })
    let asked = 0
    for (; !isOver; asked += 1) {
      assert.equal((await ask('GET', '/healthz')).status, 200)
      const body = { name: `own ${asked}`, hostname: 'h', port: 1, username: 'u' }
      assert.equal((await ask('POST', '/configurations/', { body })).status, 200)
    }
    assert.deepEqual(await importing, { code: 0, stdout: '', stderr: done(folder, RECORDS) })
    const { headers } = await ask('GET', '/configurations/?page=0&per_page=1')
    assert.equal(Number(headers['x-total-count']), RECORDS + asked)
  })

  it('finds the socket of the next server after kill -9, which leaves a stale one', async (t) => {
    const folder = await usedFolder(t)
    const first = await startExecutable(t, ['--data', folder])
    assert.equal((await runImport(folder, 'a,h,22,u\n')).stderr, done(folder, 1))
    await first.stop('SIGKILL')
    assert.ok((await lstat(ownerSocketPath(folder))).isSocket())
    const check = await runExecutable(['check', '--data', folder])
    assert.deepEqual([check.code, /control/.test(check.stdout)], [0, false])
    const backup = join(await temporaryFolder(t), 'backup.json')
    assert.equal((await runExecutable(['backup', backup, '--data', folder])).code, 0)
    assert.equal((await runImport(folder, 'b,h,22,u\n')).stderr, done(folder, 1))

    const next = await startExecutable(t, ['--data', folder])
    assert.equal((await runImport(folder, 'c,h,22,u\n')).stderr, done(folder, 1))
    assert.doesNotMatch(next.stderr(), /owner_socket_failed/)
    await next.stop('SIGKILL')
    for (const args of [
      ['restore', backup],
      ['recover', '--yes'],
    ]) {
      const { code, stderr } = await runExecutable([...args, '--data', folder])
      assert.deepEqual([code, /control/.test(stderr)], [0, false], stderr)
    }
    const last = await startExecutable(t, ['--data', folder])
    assert.equal((await runImport(folder, 'd,h,22,u\n')).stderr, done(folder, 1))
    assert.equal(await last.stop(), 0)
    assert.ok(!(await readdir(folder)).includes('.control'))
  })

  it("leaves the folder to a server without an owner's socket, and says to name the server", async (t) => {
    const { folder } = await makeUsedFolder(t)
    const home = await temporaryFolder(t)
    const file = join(home, 'hosts.csv')
    await writeFile(file, `${HEADER}kept 2,host.example,2222,ops\nnew,new.example,22,ops\n`)
    const server = await startExecutable(t, ['--data', folder])
    await rm(ownerSocketPath(folder))
    const args = ['import', file, '--mode', 'replace']
    const refused = await runExecutable([...args, '--data', folder])
    assert.deepEqual([refused.code, refused.stdout, refused.stderr.split('\n').length], [75, '', 3])
    assert.match(
      refused.stderr,
      /\nif a server has it, name that in place of --data: --server URL or unix:PATH/,
    )
    const { Authorization } = await getToken(server.url, client)
    const environment = { HOME: home, CONNBOOK_TOKEN: Authorization.replace('Bearer ', '') }
    const { code, stderr } = await runExecutable([...args, '--server', server.url], { environment })
    assert.deepEqual(
      [code, / 1 added, 1 modified, 7 removed, 0 unchanged\n$/.test(stderr)],
      [0, true],
      stderr,
    )
  })

  it('is not led to the server of another folder by a copied socket', async (t) => {
    const folder = await usedFolder(t)
    const server = await startExecutable(t, ['--data', folder])
    const ask = createClient(server.url, await getToken(server.url, client))
    const copy = join(await temporaryFolder(t), 'copy')
    execFileSync('cp', ['-a', folder, copy])
    assert.ok((await lstat(ownerSocketPath(copy))).isSocket())
    assert.equal((await runImport(copy, 'a,h,22,u\n')).stderr, done(copy, 1))
    assert.equal((await ask('GET', '/configurations/a')).status, 404)
    const other = await startExecutable(t, ['--data', copy])
    assert.equal((await runImport(copy, 'b,h,22,u\n')).stderr, done(copy, 1))
    await other.stop()
    assert.equal((await runImport(folder, 'a,h,22,u\n')).stderr, done(folder, 1))
    assert.equal((await ask('GET', '/configurations/a')).status, 200)
  })

  it('lets in the account of the server, and root', { skip: onlyRoot }, async (t) => {
    const folder = await plainFolder(t)
    const server = await startExecutable(t, ['--data', folder], { through: asPlainAccount })
    const { uid, mode } = await stat(ownerSocketPath(folder))
    assert.deepEqual([uid, mode & 0o777], [plainAccount, 0o600])
    for (const through of [asPlainAccount, []]) {
      const imported = await runImport(folder, `${through.length},h,22,u\n`, { through })
      assert.deepEqual(imported, { code: 0, stdout: '', stderr: done(folder, 1) })
    }
    await server.stop()
    const trail = await readFile(join(folder, 'audit.jsonl'), 'utf8')
    assert.deepEqual(
      [...trail.matchAll(/"configuration_added","command":"import","by":"(\w+)"/g)].map(([, by]) => by),
      ['nobody', 'root'],
    )
  })

  it('lets the owner of the folder call a server that root has started', {
    skip: onlyRoot,
  }, async (t) => {
    const folder = await plainFolder(t)
    await startExecutable(t, ['--data', folder])
    const { stderr } = await runImport(folder, 'a,h,22,u\n', { through: asPlainAccount })
    assert.equal(stderr, done(folder, 1))
    assert.equal((await runImport(folder, 'b,h,22,u\n')).stderr, done(folder, 1))
  })

  it('makes root name the folder of another account', { skip: onlyRoot }, async (t) => {
    const place = await temporaryFolder(t)
    const folder = join(place, 'data')
    execFileSync('cp', ['-a', await usedFolder(t), folder])
    await giveToPlainAccount(folder)
    await startExecutable(t, ['--data', folder])
    const file = join(place, 'a.csv')
    await writeFile(file, `${HEADER}a,h,22,u\n`)
    const unnamed = await runExecutable(['import', file], {
      cwd: place,
      environment: { XDG_STATE_HOME: place },
    })
    assert.deepEqual(
      [unnamed.code, unnamed.stderr.startsWith('connbook: Cannot use "./data" unnamed: ')],
      [2, true],
    )
    const named = await runExecutable(['import', file], {
      cwd: place,
      environment: { CONNBOOK_DATA: 'data' },
    })
    assert.deepEqual([named.code, named.stderr], [0, done(folder, 1)])
  })

  it('lets no other account in, not even one that knows the path', { skip: onlyRoot }, async (t) => {
    const folder = await usedFolder(t)
    await chmod(dirname(folder), 0o755)
    const server = await startExecutable(t, ['--data', folder])
    const { code, stderr } = await runImport(folder, 'a,h,22,u\n', { through: asPlainAccount })
    assert.deepEqual([code, /permission \(EACCES\)/.test(stderr)], [1, true], stderr)
    const path = ownerSocketPath(folder)
    const script = `require('node:net').connect(${JSON.stringify(path)}).on('error', ({ code }) => console.log(code)).on('connect', () => console.log('in'))`
    const [command = '', ...args] = [...asPlainAccount, process.execPath, '-e', script]
    const connect = () => execFileSync(command, args, { encoding: 'utf8', timeout: 300_000 }).trim()
    assert.equal(connect(), 'EACCES')
    // Also where the folder has been opened since: the mode of the socket holds alone.
    await chmod(folder, 0o755)
    assert.equal(connect(), 'EACCES')
    await chmod(folder, 0o700)
    await server.stop()
  })

  it('does not use a socket that another account has put there', { skip: onlyRoot }, async (t) => {
    const folder = await usedFolder(t)
    await startExecutable(t, ['--data', folder])
    await chown(ownerSocketPath(folder), 65_534, 65_534)
    const { code, stderr } = await runImport(folder, 'a,h,22,u\n')
    assert.deepEqual([code, /does not belong to the owner of its folder/.test(stderr)], [75, true], stderr)
  })
})
