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

/** An etcd, and the flags that name it. */
async function setUpEtcd(t: TestContext) {
  const { urls } = await startEtcd(t, 1)
  const flags = ['--etcd', urls.join(), '--etcd-key-file', await keyFileOf(t, 'ab')]
  return { flags, url: urls.join() }
}

async function keyFileOf(t: TestContext, byte: string): Promise<string> {
  const path = join(await temporaryFolder(t), 'key')
  await writeFile(path, byte.repeat(32), { mode: 0o600 })
  return path
}

/** Two nodes on one etcd, and commands beside the first. */
async function setUp(t: TestContext) {
  const { flags, url } = await setUpEtcd(t)
  const folder = await temporaryFolder(t)
  const here = await start(t, { folder, flags })
  const there = await start(t, { folder: await temporaryFolder(t), flags })
  const run = (words: string, how = flags, at = folder) =>
    runCommand([...words.split(' '), '--data', at, ...how], { input: 'a secret' })
  const done = async (words: string) => {
    const { code, stdout, stderr } = await run(words)
    assert.deepEqual([code, stderr], [0, ''], words)
    return stdout
  }
  return { url, flags, folder, here, there, run, done, place: `etcd at ${url}, prefix /connbook/` }
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
    const { here, there, done, run, place, folder } = await setUp(t)
    assert.equal(await done('user add eve'), `Added user "eve" in ${place}\n`)
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
    assert.deepEqual([again.code, again.stderr], [3, `connbook: There is no user "eve" in "${place}"\n`])
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
    const { flags } = await setUpEtcd(t)
    const folder = await temporaryFolder(t)
    await start(t, { folder, flags, environment: {} })
    const kept = () => readFile(join(folder, dataFiles.initialCredentials), 'utf8')
    assert.match(await kept(), /"password"/)
    const words = ['user', 'passwd', admin.username, '--data', folder, ...flags]
    assert.equal((await runCommand(words, { input: 'another secret' })).code, 0)
    assert.doesNotMatch(await kept(), /"password"/)
  })

  it('are refused where they would do harm, or nothing could tell of them', async (t) => {
    const { url, flags, folder, run } = await setUp(t)
    const refused = async (words: string, how = flags, at = folder) => {
      const { code, stdout, stderr } = await run(words, how, at)
      assert.ok(code !== 0 && stdout === '', stderr)
      return stderr
    }
    assert.match(
      await refused('user add eve', [...flags, '--etcd-prefix', '/other/']),
      /Cannot find anything of connbook below the prefix "\/other\/"/,
    )
    assert.match(
      await refused('keys rotate', ['--etcd', url, '--etcd-key-file', await keyFileOf(t, 'cd')]),
      /sealed with another key; give each node the same file/,
    )
    assert.match(await refused('user list', ['--etcd', url]), /without --etcd-key-file/)
    assert.match(
      await refused('user add eve', flags, await temporaryFolder(t)),
      /Cannot find a node of a cluster in/,
    )
  })
})
