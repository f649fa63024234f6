import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { dataFiles } from '../../src/files/data-folder.ts'
import { runCommand } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { admin, start, type TestService } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { missingEtcd, startEtcd } from './support/etcd.ts'

/** The flags that name a new etcd. */
async function startCluster(t: TestContext) {
  const { urls } = await startEtcd(t, 1)
  const path = join(await temporaryFolder(t), 'key')
  await writeFile(path, 'ab'.repeat(32), { mode: 0o600 })
  return ['--etcd', urls.join(), '--etcd-key-file', path]
}

/** Two nodes on one etcd, and commands with the folder of the first. */
async function setUp(t: TestContext) {
  const flags = await startCluster(t)
  const folder = await temporaryFolder(t)
  const here = await start(t, { folder, flags })
  const there = await start(t, { folder: await temporaryFolder(t), flags })
  const run = (words: string) => runCommand([...words.split(' '), '--data', folder], { input: 'a secret' })
  const done = async (words: string) => {
    const { code, stdout, stderr } = await run(words)
    assert.equal(code, 0, stderr)
    return stdout || stderr
  }
  return { flags, folder, here, there, run, done }
}

/** Waits until each node answers a session so. */
async function untilAnswered(nodes: readonly TestService[], Cookie: string, status: number) {
  const statusOf = async ({ call }: TestService) =>
    (await call('/configurations/', { headers: { Cookie } })).status
  for (const node of nodes)
    await eventually(`a node answers ${status}`, async () => (await statusOf(node)) === status)
}

async function logIn({ call }: TestService, username: string, password: string): Promise<string | undefined> {
  const body = JSON.stringify({ username, password })
  const answer = await call('/login', { method: 'POST', body })
  return answer.headers.getSetCookie()[0]?.split(';')[0]
}

describe('commands for accounts and keys of a cluster', { skip: missingEtcd }, () => {
  it('add, list, change and remove accounts, beside the nodes, which all take that up', async (t) => {
    const { here, there, done, run, folder } = await setUp(t)
    assert.equal(await done('user add eve'), `Added user "eve" in ${folder}\n`)
    assert.equal(await done('user list'), 'admin\tadmin\neve\n')
    let session: string | undefined
    await eventually('eve can log in there', async () => {
      session = await logIn(there, 'eve', 'a secret')
      return session !== undefined
    })
    await untilAnswered([here, there], session ?? '', 200)
    await done('user passwd eve')
    await untilAnswered([here, there], session ?? '', 403)
    await done('user set eve --read-only')
    assert.equal(await done('user list'), 'admin\tadmin\neve\tread-only\n')
    await done('user remove eve')
    const again = await run('user remove eve')
    assert.deepEqual([again.code, again.stderr], [3, `connbook: There is no user "eve" in ${folder}\n`])
    const taken = await run('user add admin')
    assert.equal(taken.code, 4)
    assert.match(taken.stderr, /there is one already/)

    const trail = await readFile(join(folder, 'audit.jsonl'), 'utf8')
    for (const event of ['user_added', 'user_password_changed', 'user_changed', 'user_removed'])
      assert.match(trail, new RegExp(`"event":"${event}".*"command":"user `), event)
  })

  it('rotate and replace the keys of all nodes', async (t) => {
    const { here, there, done } = await setUp(t)
    const nodes = [here, there]
    const session = await here.cookie()
    await done('keys rotate')
    assert.equal((await done('keys list')).trim().split('\n').length, 2)
    await untilAnswered(nodes, session, 200)
    await untilAnswered(nodes, await there.cookie(), 200)
    await done('keys revoke-all')
    await untilAnswered(nodes, session, 403)
    await untilAnswered(nodes, await there.cookie(), 200)
  })

  it('are not needed to end a session, which ends on all nodes', async (t) => {
    const { here, there } = await setUp(t)
    const Cookie = await here.cookie()
    await untilAnswered([here, there], Cookie, 200)
    const headers = { Cookie, 'Content-Type': 'application/json' }
    assert.equal((await here.call('/logout', { method: 'POST', headers })).status, 200)
    await untilAnswered([here, there], Cookie, 403)
  })

  it('forget a password of the first start once it is changed', async (t) => {
    const folder = await temporaryFolder(t)
    await start(t, { folder, flags: await startCluster(t), environment: {} })
    const kept = () => readFile(join(folder, dataFiles.initialCredentials), 'utf8')
    assert.match(await kept(), /"password"/)
    const words = ['user', 'passwd', admin.username, '--data', folder]
    assert.equal((await runCommand(words, { input: 'another secret' })).code, 0)
    assert.doesNotMatch(await kept(), /"password"/)
  })

  it('need a node that runs, and name none by its etcd', async (t) => {
    const { flags, here, folder, run } = await setUp(t)
    const beside = await run(`user add eve ${flags.slice(0, 2).join(' ')}`)
    assert.equal(beside.code, 2, beside.stderr)
    await here.stop()
    for (const words of ['user add eve', 'user list', 'client remove script', 'keys rotate', 'keys list']) {
      const { code, stdout, stderr } = await run(words)
      assert.deepEqual([code, stdout], [1, ''], stderr)
      assert.ok(stderr.includes(`"${folder}": it is the folder of a node`), stderr)
      assert.match(stderr, /; start it, or name one that runs with --server\n$/)
    }
  })
})
