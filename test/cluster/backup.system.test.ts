import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { accessCluster } from '../../src/cluster/cluster-access.ts'
import { restoreCluster } from '../../src/cluster/cluster-backup.ts'
import { put } from '../../src/cluster/messages.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { readBackup } from '../../src/state/backup-document.ts'
import { runCommand } from '../support/command.ts'
import { admin, start } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { missingEtcd, PATIENT, startEtcd } from './support/etcd.ts'

const RECORDS = 1_000

/** An etcd, and a folder with a backup of records whose ids have gaps. */
async function setUp(t: TestContext) {
  const { urls, members } = await startEtcd(t, 1)
  const folder = await temporaryFolder(t)
  const path = (name: string) => join(folder, name)
  await writeFile(path('key'), 'ab'.repeat(32), { mode: 0o600 })
  const flagsOf = (prefix: string) => [
    ...['--etcd', urls.join(), '--etcd-prefix', prefix, '--etcd-key-file', path('key')],
  ]
  const run = (words: readonly string[], prefix?: string) =>
    runCommand([...words, ...(prefix === undefined ? [] : flagsOf(prefix))])
  const done = async (words: readonly string[], prefix?: string) => {
    const { code, stdout, stderr } = await run(words, prefix)
    assert.equal(code, 0, `${words.join(' ')}: ${stderr}`)
    return stdout
  }
  const first = await start(t, { folder: path('first') })
  const authorization = await first.bearer()
  const ask = (method: string, target: string, body?: unknown) =>
    first.call(target, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  const names = Array.from({ length: RECORDS }, (_, i) => `é ${i}`)
  const labels = { env: 'prod', owner: '' }
  await ask(
    'POST',
    '/v1/import?format=json',
    names.map((name) => draft(name, { labels })),
  )
  await ask('DELETE', `/configurations/${encodeURIComponent('é 999')}`)
  await first.stop()
  await done(['backup', path('first.json'), '--data', path('first')])
  const access = (prefix: string) =>
    accessCluster({
      etcd: urls,
      etcdPrefix: prefix,
      etcdCa: undefined,
      etcdCert: undefined,
      etcdKey: undefined,
      etcdUser: undefined,
      etcdPasswordFile: undefined,
      etcdKeyFile: path('key'),
      etcdPlain: false,
    }) ?? assert.fail('no cluster')
  return { path, run, done, flagsOf, access, urls, members }
}

/** What a backup holds, but for the store and the moment. */
async function contentOf(path: string) {
  const {
    store: _,
    revision: __,
    createdAt: ___,
    records: all,
    ...rest
  } = await readBackup(path, realFileSystem)
  return { ...rest, records: Array.from(all, ({ json }) => json) }
}

describe('a cluster', { skip: missingEtcd }, () => {
  it('gets the backup of a folder, and gives one from which a folder is made: the same records, ids and accounts', async (t) => {
    const { path, done, flagsOf } = await setUp(t)
    const told = await done(['restore', path('first.json')], '/a/')
    assert.match(
      told,
      /^Restored 999 records and 2 accounts to etcd at http.*, prefix \/a\/, as they were at /,
    )
    const node = await start(t, { folder: path('node'), flags: flagsOf('/a/') })
    const headers = { cookie: await node.cookie() }
    const added = await node.call('/configurations/', {
      method: 'POST',
      headers,
      body: JSON.stringify(draft('new')),
    })
    assert.equal(((await added.json()) as { configurations: [{ id: number }] }).configurations[0].id, 1_001)
    await node.call('/configurations/new', { method: 'DELETE', headers })
    const kept = await done(['backup', path('second.json')], '/a/')
    assert.match(kept, /^Kept 999 records and 2 accounts of etcd at /)
    await done(['restore', path('second.json'), '--data', path('third')])
    await done(['backup', path('third.json'), '--data', path('third')])
    const [first, second, third] = await Promise.all(
      ['first', 'second', 'third'].map((name) => contentOf(path(`${name}.json`))),
    )
    assert.deepEqual(second, { ...first, lastId: 1_001 })
    assert.deepEqual(third, second)
    assert.equal(await done(['check', path('second.json')]), await done(['check', path('second.json')]))
    const csv = await done(['export', '--format', 'csv', '--data', path('node')])
    assert.equal(csv, await done(['export', '--format', 'csv', '--data', path('third')]))
    const checked = await done(['check'], '/a/')
    assert.match(checked, /999 records, next id 1002\nThe cluster is sound\n$/)
    assert.match(checked, /w\/ +[0-9a-f]{12} \(batch 2, /)
    assert.equal((await node.call('/login', { method: 'POST', body: JSON.stringify(admin) })).status, 200)
  })

  it('takes no backup into a prefix that is used, and nothing else where a restore was broken off', async (t) => {
    const { path, run, done, access, flagsOf } = await setUp(t)
    await done(['restore', path('first.json')], '/a/')
    const again = await run(['restore', path('first.json')], '/a/')
    assert.deepEqual([again.code, again.stdout], [1, ''])
    assert.match(
      again.stderr,
      /^connbook: Cannot restore to the prefix "\/a\/" of etcd at http.*: it is in use; /,
    )
    await assert.rejects(breakOff(access('/b/'), path('first.json'), 3), /broken off/)
    await assert.rejects(
      start(t, { folder: path('node'), flags: flagsOf('/b/') }),
      /the key "\/b\/meta" is missing, but others are there; if a restore was broken off there, run it again/,
    )
    for (const command of ['check', 'backup -']) {
      const { code, stderr } = await run(command.split(' '), '/b/')
      assert.deepEqual([code, /broken off/.test(stderr)], [1, true], command)
    }
    await done(['restore', path('first.json')], '/b/')
    await done(['backup', path('b.json')], '/b/')
    assert.deepEqual(await contentOf(path('b.json')), await contentOf(path('first.json')))
    const foreign = access('/c/')
    await foreign.gateway.transact({ compare: [], success: [put('/c/theirs', 'x')], failure: [] }, PATIENT)
    const refused = await run(['restore', path('first.json')], '/c/')
    assert.match(refused.stderr, /the key "\/c\/theirs" there is not connbook's; name another prefix/)
    foreign.gateway.close()
  })

  it('gets one of two backups that are restored at once, whole', async (t) => {
    const { path, run, done } = await setUp(t)
    const other = await start(t, { folder: path('other') })
    const names = Array.from({ length: RECORDS }, (_, i) => `other ${i}`)
    await other.call('/v1/import?format=json', {
      method: 'POST',
      headers: { authorization: await other.bearer(), 'content-type': 'application/json' },
      body: JSON.stringify(names.map((name) => draft(name))),
    })
    await done(['backup', path('other.json'), '--data', path('other')])
    const files = [path('first.json'), path('other.json')]
    const both = await Promise.all(files.map((file) => run(['restore', file], '/a/')))
    const codes = both.map(({ code }) => code)
    assert.deepEqual(codes.toSorted(), [0, 1])
    await done(['backup', path('a.json')], '/a/')
    const won = files[codes.indexOf(0)] ?? ''
    assert.deepEqual(await contentOf(path('a.json')), await contentOf(won))
  })

  it('that cannot be used is named with the cause and the remedy, and nothing is written', async (t) => {
    const { path, run, done, members, access } = await setUp(t)
    await done(['restore', path('first.json')], '/a/')
    const refused = async (words: readonly string[], code: number, message: RegExp, prefix?: string) => {
      const result = await run(words, prefix)
      assert.deepEqual([result.code, result.stdout], [code, ''], result.stderr)
      assert.match(result.stderr, message)
      assert.equal(result.stderr.split('\n').length, 2)
    }
    await refused(
      ['backup', '-'],
      1,
      /Cannot find anything of connbook below the prefix "\/none\/"/,
      '/none/',
    )
    await writeFile(path('other'), 'cd'.repeat(32), { mode: 0o600 })
    const url = members[0]?.url ?? ''
    const others = ['--etcd', url, '--etcd-prefix', '/a/', '--etcd-key-file', path('other')]
    await refused(['check', ...others], 1, /sealed with another key; give each node the same file/)
    const { gateway, keys } = access('/a/')
    const change = (key: string, value: string) =>
      gateway.transact({ compare: [], success: [put(key, value)], failure: [] }, PATIENT)
    await change(keys.record('é 1'), '{"id":2}')
    await refused(
      ['check'],
      65,
      /Cannot read the key "\/a\/r\/..\/é 1" of etcd at .*: it is no record/,
      '/a/',
    )
    await change(keys.meta, '{"format":"connbook cluster","version":3,"store":"a","epoch":0}')
    await refused(
      ['check'],
      65,
      /newer connbook: version 3 is unknown to this program, which reads 2; use the connbook that wrote it/,
      '/a/',
    )
    gateway.close()
    await members[0]?.kill()
    await refused(['backup', '-'], 6, /^connbook: etcd at http:.*ECONNREFUSED.*; check that it runs/, '/a/')
    assert.equal((await readFile(path('key'), 'utf8')).length, 64)
  })
})

/** Restores, but etcd takes so many transactions only. */
async function breakOff(access: ReturnType<typeof accessCluster>, backup: string, transactions: number) {
  if (access === undefined) assert.fail('no cluster')
  let left = transactions
  const { gateway } = access
  const cut = {
    ...access,
    gateway: {
      ...gateway,
      range: gateway.range,
      transact: (...args: Parameters<typeof gateway.transact>) => {
        left -= 1
        return left < 0 ? Promise.reject(new Error('broken off')) : gateway.transact(...args)
      },
    },
  }
  try {
    await restoreCluster(cut, await readBackup(backup, realFileSystem))
  } finally {
    gateway.close()
  }
}
