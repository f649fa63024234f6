import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { accessCluster } from '../../src/cluster/cluster-access.ts'
import { put } from '../../src/cluster/messages.ts'
import { logIn } from '../support/api.ts'
import { runCommand } from '../support/command.ts'
import { createClient } from '../support/http-client.ts'
import { start } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { missingEtcd, PATIENT, startEtcd } from './support/etcd.ts'

const admin = { username: 'admin', password: 'a good secret' }

/** A cluster as an older connbook has left it, with a user who may write. */
async function olderCluster(t: TestContext) {
  const { urls } = await startEtcd(t, 1)
  const folder = await temporaryFolder(t)
  const keyFile = join(folder, 'key')
  await writeFile(keyFile, 'ab'.repeat(32), { mode: 0o600 })
  const flags = ['--etcd', urls.join(), '--etcd-prefix', '/p/', '--etcd-key-file', keyFile]
  const node = () =>
    start(t, {
      folder: join(folder, 'node'),
      flags,
      environment: { CONNBOOK_ADMIN_PASSWORD: admin.password },
    })
  const data = ['--data', join(folder, 'node')]
  const run = (words: string) => runCommand([...words.split(' '), ...data], { input: admin.password })
  const upgrade = (...words: string[]) => runCommand(['cluster', 'upgrade', ...words, ...flags])

  const { gateway, keys } =
    accessCluster({
      ...{ etcd: urls, etcdPrefix: '/p/', etcdKeyFile: keyFile, etcdPlain: false },
      ...{ etcdCa: undefined, etcdCert: undefined, etcdKey: undefined },
      ...{ etcdUser: undefined, etcdPasswordFile: undefined },
    }) ?? assert.fail('no cluster')
  t.after(() => gateway.close())
  const textOf = async (key: string) =>
    (await gateway.range({ key }, PATIENT)).kvs[0]?.value ?? assert.fail(`no ${key}`)
  const versionOf = async (key: string) => JSON.parse(await textOf(key)).version
  const versions = async () => [await versionOf(keys.meta), await versionOf(keys.accounts)]

  const first = await node()
  assert.deepEqual(await versions(), [2, 2])
  assert.equal((await run('user set admin --read-write')).code, 0)
  await first.stop()
  const older = async (key: string) => put(key, (await textOf(key)).replace('"version":2', '"version":1'))
  const success = [await older(keys.meta), await older(keys.accounts)]
  await gateway.transact({ compare: [], success, failure: [] }, PATIENT)
  return { node, run, upgrade, versions }
}

describe('a cluster of an older form', { skip: missingEtcd }, () => {
  it('keeps what older nodes can read, until it is upgraded', async (t) => {
    const { node, run, upgrade, versions } = await olderCluster(t)
    const { url } = await node()
    const ask = createClient(url, await logIn(url, admin))
    assert.equal((await ask('POST', '/configurations/', { body: draft('before') })).status, 200)
    assert.equal((await run('user add eve --read-only')).code, 0)
    assert.deepEqual(await versions(), [1, 1])

    const unasked = await upgrade()
    assert.equal(unasked.code, 2, unasked.stderr)
    assert.deepEqual(await versions(), [1, 1])
    const upgraded = await upgrade('--yes')
    assert.equal(upgraded.code, 0, upgraded.stderr)
    assert.match(upgraded.stdout, /^Raised etcd at .* to the newest form\n$/)
    assert.deepEqual(await versions(), [2, 2])
    const again = await upgrade('--yes')
    assert.match(again.stdout, /has the newest form already\n$/)

    // The node goes on, and so do its sessions.
    assert.equal((await ask('POST', '/configurations/', { body: draft('after') })).status, 200)
    assert.equal((await run('user add mallory --read-only')).code, 0)
    assert.deepEqual(await versions(), [2, 2])
  })

  it('has the newest form of accounts when one has what the older form cannot say', async (t) => {
    const { node, run, versions } = await olderCluster(t)
    await node()
    assert.equal((await run('user add eve --grant read?prefix=a')).code, 0)
    assert.deepEqual(await versions(), [1, 2])
  })
})

describe('connbook cluster upgrade', () => {
  it('is refused without a cluster', async () => {
    const { code, stderr } = await runCommand(['cluster', 'upgrade', '--yes'])
    assert.equal(code, 2)
    assert.match(stderr, /without --etcd URL; a data folder needs no upgrade/)
  })
})
