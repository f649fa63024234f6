import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { accessCluster, type ClusterAccess } from '../../src/cluster/cluster-access.ts'
import { restoreCluster } from '../../src/cluster/cluster-backup.ts'
import { CLUSTER_SMALL_RECORDS } from '../../src/cluster/cluster-reading.ts'
import { EtcdError } from '../../src/cluster/etcd-error.ts'
import type { Gateway } from '../../src/cluster/gateway.ts'
import { put, remove } from '../../src/cluster/messages.ts'
import { realFileSystem } from '../../src/files/file-system.ts'
import { readBackup } from '../../src/state/backup-document.ts'
import { runCommand } from '../support/command.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { missingEtcd, PATIENT, startEtcd } from './support/etcd.ts'

/** More than are read from etcd at once. */
const MANY = CLUSTER_SMALL_RECORDS + 1_000
const HEADER = 'name,hostname,port,username\n'

describe('commands on a cluster', { skip: missingEtcd }, async () => {
  const { urls } = await startEtcd({ after }, 1)
  const shared = await temporaryFolder({ after })
  /** With a blank, which shells would split. */
  const keyFile = join(shared, 'the key')
  await writeFile(keyFile, 'ab'.repeat(32), { mode: 0o600 })
  let prefixes = 0

  /** A prefix of its own, and a folder. */
  async function setUp(t: TestContext) {
    prefixes += 1
    const prefix = `/p${prefixes}/`
    const folder = await temporaryFolder(t)
    const path = (name: string) => join(folder, name)
    const flags = ['--etcd', urls.join(), '--etcd-prefix', prefix, '--etcd-key-file', keyFile]
    const access = accessTo(prefix)
    t.after(() => access.gateway.close())
    const run = (words: string, more: readonly string[] = flags) =>
      runCommand([...words.split(' '), ...more], { input: 'a secret' })
    const done = async (words: string, more: readonly string[] = flags) => {
      const { code, stdout, stderr } = await run(words, more)
      assert.equal(code, 0, stderr)
      return stdout
    }
    /** A backup of so many records, of a folder that has never been started. */
    const backupOf = async (name: string, records: number) => {
      const rows = Array.from({ length: records }, (_, i) => `${name} ${i},host.example,22,deploy\n`)
      await writeFile(path(`${name}.csv`), HEADER + rows.join(''))
      await done(`import ${path(`${name}.csv`)}`, ['--data', path(name)])
      await done(`backup ${path(name)}.json`, ['--data', path(name)])
      return `${path(name)}.json`
    }
    return { prefix, path, flags, access, run, done, backupOf }
  }

  function accessTo(prefix: string): ClusterAccess {
    const options = {
      ...{ etcd: urls, etcdPrefix: prefix, etcdKeyFile: keyFile, etcdPlain: false },
      ...{ etcdCa: undefined, etcdCert: undefined, etcdKey: undefined },
      ...{ etcdUser: undefined, etcdPasswordFile: undefined },
    }
    return accessCluster(options) ?? assert.fail('no cluster')
  }

  it('restore and save thousands of records, and remove what another restore has left', async (t) => {
    const { path, access, done, run, backupOf } = await setUp(t)
    const other = await backupOf('other', MANY)
    const backup = await backupOf('backup', MANY)
    const isCut = await breakOff(access, other, 40)
    assert.ok(isCut)
    const refused = await run('check')
    assert.deepEqual([refused.code, /run it again/.test(refused.stderr)], [1, true], refused.stderr)
    await done(`restore ${backup}`)
    await done(`backup ${path('again.json')}`)
    assert.deepEqual(await recordsOf(path('again.json')), await recordsOf(backup))
    assert.match(
      await done('check'),
      new RegExp(`r/ +${MANY} records\\n(?:.*\\n)*${MANY} records, next id ${MANY + 1}\\nThe cluster is`),
    )
  })

  it('refuse a prefix with a key that is not of connbook, among few and many others', async (t) => {
    const { prefix, access, done, run, backupOf } = await setUp(t)
    const keys = [`${prefix}theirs`, `${prefix}r/zz`, `${prefix}r/00/${prefix}`, `${prefix}zz`]
    const everywhere = ['backup -', 'check']
    for (const [records, commands] of [
      [1, everywhere],
      [MANY, ['check']],
    ] as const) {
      await removeAll(access)
      const backup = await backupOf(`of${records}`, records)
      await done(`restore ${backup}`)
      for (const key of keys) {
        await change(access, put(key, 'x'))
        for (const command of commands) {
          const { code, stdout, stderr } = await run(command)
          assert.deepEqual([code, stdout], [1, ''], command)
          assert.ok(stderr.includes(`the key "${key}" there is not connbook's; name another`), stderr)
        }
        await change(access, remove(key))
      }
      await done('check')
    }
  })

  it('say which key is missing of a store that was complete, and what to do', async (t) => {
    const { access, run, done, backupOf } = await setUp(t)
    const backup = await backupOf('b', 1)
    const { keys } = access
    for (const key of [keys.sequence, keys.accounts, keys.signingKeys]) {
      await removeAll(access)
      await done(`restore ${backup}`)
      await change(access, remove(key))
      for (const command of ['check', 'backup -']) {
        const { code, stderr } = await run(command)
        assert.equal(code, 65, stderr)
        assert.match(
          stderr,
          /^connbook: Cannot read the key ".*" of etcd at .*: it is missing; put it back, /,
        )
        assert.ok(stderr.includes(`"${key}"`), stderr)
      }
    }
  })

  it('name a command that adds an account once there is none', async (t) => {
    const { path, flags, run, done } = await setUp(t)
    const folder = path("a node's")
    await start(t, { folder, flags })
    const here = ['--data', folder]
    await done('client remove script', here)
    const { code, stderr } = await run('user remove admin', here)
    assert.equal(code, 0)
    const line = /so nobody can log in; run: connbook (.*)\n$/.exec(stderr)?.[1]
    assert.ok(line !== undefined, stderr)
    const shell = `printf '%s\\n' ${line.replace('NAME', 'eve')}`
    const words = execFileSync('sh', ['-c', shell], { encoding: 'utf8' }).trimEnd().split('\n')
    const added = await runCommand(words, { input: 'a secret' })
    assert.equal(added.code, 0, added.stderr)
    assert.equal(await done('user list', here), 'eve\n')
  })

  it('without --etcd leave the folder of a node alone', async (t) => {
    const { path, flags, done } = await setUp(t)
    const folder = path('node')
    const node = await start(t, { folder, flags })
    await writeFile(path('hosts.csv'), `${HEADER}a,host.example,22,deploy\n`)
    await done(`backup ${path('backup.json')}`)
    const refuse = async (commands: readonly string[], reason: RegExp) => {
      const before = await readdir(folder)
      for (const words of commands) {
        const { code, stdout, stderr } = await run(words)
        assert.deepEqual([code, stdout], [1, ''], words)
        assert.match(stderr, reason, words)
      }
      assert.deepEqual(await readdir(folder), before)
    }
    const run = (words: string) => runCommand([...words.split(' '), '--data', folder], { input: 'a secret' })
    const ownWays = ['check', `restore ${path('backup.json')}`, 'recover --yes']
    const without = /without --etcd: it is the folder of a node, .*; add the --etcd flags, or name another/
    await refuse(ownWays, without)
    const imported = await run(`import ${path('hosts.csv')}`)
    assert.equal(imported.code, 0, imported.stderr)
    assert.match((await run('export --format csv')).stdout, /^a,host\.example,/m)
    assert.match((await run('backup -')).stdout, /"name":"a"/)
    await node.stop()
    await refuse(ownWays, without)
    await refuse(
      [
        'user add eve',
        'user list',
        'client rotate script',
        'keys revoke-all',
        'export --format csv',
        'backup -',
        `import ${path('hosts.csv')}`,
      ],
      /: it is the folder of a node, .*: .*; start it, or name one that runs with --server\n$/,
    )
  })

  it('list a restore in the audit trail of a node that --data names', async (t) => {
    const { path, flags, access, done, backupOf } = await setUp(t)
    const node = await start(t, { folder: path('node'), flags })
    await node.stop()
    await removeAll(access)
    const backup = await backupOf('b', 1)
    await done(`restore ${backup} --data ${path('node')}`)
    assert.match(await readFile(join(path('node'), 'audit.jsonl'), 'utf8'), /"event":"restored".*"as_of":"/)
    await removeAll(access)
    await done(`restore ${backup} --data ${path('nothing')}`)
    assert.ok(!(await readdir(path('.'))).includes('nothing'))
  })

  it('restore a backup without accounts, of which each node warns', async (t) => {
    const { path, flags, done, backupOf } = await setUp(t)
    await done(`restore ${await backupOf('b', 1)}`)
    const node = await start(t, { folder: path('node'), flags })
    const warning = node.log.lines.find((line) => line.includes('"event":"nobody_can_log_in"'))
    assert.match(warning ?? '', /"remedy":"run: connbook user add NAME --data '\S+node'"/)
  })

  it('know that a restore is complete whose last answer is lost, also if a node is faster', async (t) => {
    const { access, done, backupOf } = await setUp(t)
    const backup = await readBackup(await backupOf('b', 200), realFileSystem)
    const { gateway, keys } = access
    const isLast = (text: string) => text.includes(Buffer.from(keys.meta).toString('base64'))
    let lost = 0
    const transact: Gateway['transact'] = async (transaction, options) => {
      const answer = await gateway.transact(transaction, options)
      if (lost > 0 || !transaction.success.some(isLast)) return answer
      lost += 1
      await change(access, put(keys.sequence, '201'))
      throw new EtcdError(gateway.endpoint, 'timed_out', 'no answer', { isUndone: false })
    }
    await restoreCluster({ ...access, gateway: wrapped(gateway, transact) }, backup)
    assert.equal(lost, 1)
    assert.match(await done('check'), /200 records, next id 202\n/)
  })
})

/** Restores, but etcd takes so many transactions only. @returns Whether that was too few. */
async function breakOff(access: ClusterAccess, backup: string, transactions: number): Promise<boolean> {
  let left = transactions
  const gateway = wrapped(access.gateway, (transaction, options) => {
    left -= 1
    return left < 0 ? Promise.reject(new Error('broken off')) : access.gateway.transact(transaction, options)
  })
  const restored = restoreCluster({ ...access, gateway }, await readBackup(backup, realFileSystem))
  await assert.rejects(restored, /^Error: broken off$/)
  return left < 0
}

function wrapped(gateway: Gateway, transact: Gateway['transact']): Gateway {
  return { ...gateway, transact }
}

function change({ gateway }: ClusterAccess, operation: string) {
  return gateway.transact({ compare: [], success: [operation], failure: [] }, PATIENT)
}

function removeAll(access: ClusterAccess) {
  const { key, end } = access.keys.all
  return change(access, remove(key, end))
}

async function recordsOf(path: string) {
  const { lastId, count, records } = await readBackup(path, realFileSystem)
  return { lastId, count, records: Array.from(records, ({ json }) => json) }
}
