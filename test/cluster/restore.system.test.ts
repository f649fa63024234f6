import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { ClusterKeys } from '../../src/cluster/cluster-keys.ts'
import { openGateway } from '../../src/cluster/gateway.ts'
import { eventually } from '../support/eventually.ts'
import { executable, runExecutable } from '../support/executable.ts'
import { createRandom } from '../support/random.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { missingEtcd, PATIENT, startEtcd } from './support/etcd.ts'
import { startEtcdProxy } from './support/etcd-proxy.ts'

const RECORDS = 4_000
/** How many transactions reach etcd before the rest is held up: only some of the records. */
const TRANSACTIONS = 12

describe('connbook restore --etcd', { skip: missingEtcd }, async () => {
  const { urls } = await startEtcd({ after }, 1)
  const folder = await temporaryFolder({ after })
  const path = (name: string) => join(folder, name)
  const done = async (...words: readonly string[]) => {
    const { code, stdout, stderr } = await runExecutable(words)
    assert.equal(code, 0, stderr)
    return stdout
  }
  await writeFile(path('key'), 'ab'.repeat(32), { mode: 0o600 })
  const rows = Array.from({ length: RECORDS }, (_, i) => `host${i},host.example,22,deploy\n`)
  await writeFile(path('hosts.csv'), `name,hostname,port,username\n${rows.join('')}`)
  await done('import', path('hosts.csv'), '--data', path('data'))
  await done('backup', path('backup.json'), '--data', path('data'))

  for (const signal of ['SIGKILL', 'SIGINT', 'SIGTERM'] as const)
    it(`ends at once with ${signal}, leaves nothing that a node would serve, and is repeated`, async (t) => {
      const prefix = `/${signal}/`
      const flagsAt = (etcd: string) => [
        ...['--etcd', etcd, '--etcd-prefix', prefix, '--etcd-key-file', path('key')],
      ]
      const flags = flagsAt(urls.join())
      const gateway = openGateway({ endpoints: urls })
      t.after(() => gateway.close())
      const keys = new ClusterKeys(prefix)
      const query = { ...keys.records, countOnly: true }
      const count = async () => (await gateway.range(query, PATIENT)).count
      const proxy = await startEtcdProxy(t, urls[0] ?? '')
      const heldUp = Promise.withResolvers<void>()
      proxy.rewrite((called, body) => {
        if (called === '/v3/kv/txn' && proxy.count(called) > TRANSACTIONS)
          proxy.lose({ share: 1, random: createRandom(), when: 'before', onLoss: () => heldUp.resolve() })
        return body
      })
      const child = spawn(executable, ['restore', path('backup.json'), ...flagsAt(proxy.url)], {
        stdio: 'ignore',
      })
      const ended = once(child, 'exit')
      t.after(() => void child.kill('SIGKILL'))
      await heldUp.promise
      await eventually('records are there', async () => (await count()) > 0)
      child.kill(signal)
      assert.deepEqual(await ended, [null, signal])
      assert.ok((await count()) < RECORDS)
      const { code, stderr } = await runExecutable(['--data', path('node'), '--port', '0', ...flags])
      assert.equal(code, 1, stderr)
      assert.match(stderr, /if a restore was broken off there, run it again/)
      await done('restore', path('backup.json'), ...flags)
      assert.match(
        await done('check', ...flags),
        new RegExp(`^${RECORDS} records, next id ${RECORDS + 1}$`, 'm'),
      )
    })
})
