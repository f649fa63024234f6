import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { restoreCluster } from '../../src/cluster/cluster-backup.ts'
import { readCluster } from '../../src/cluster/cluster-reading.ts'
import type { Gateway } from '../../src/cluster/gateway.ts'
import type { Transaction } from '../../src/cluster/messages.ts'
import { Sealer } from '../../src/cluster/sealed-text.ts'
import { smallBackup } from '../state/small-backup.ts'
import { clusterKeys } from '../support/cluster-node.ts'
import { createMemoryEtcd } from '../support/memory-etcd.ts'

const isRemoval = ({ success }: Transaction) => success.some((one) => one.includes('request_delete_range'))

function restoreInto(gateway: Gateway) {
  const access = {
    gateway,
    keys: clusterKeys,
    sealer: new Sealer(Buffer.alloc(32, 1), '/etc/key'),
    place: 'etcd',
    flags: '',
    reload: undefined,
    [Symbol.dispose]: () => {},
  }
  return restoreCluster(access, smallBackup)
}

describe('a restore into a cluster', () => {
  it('loses nothing when its removal of leftovers was sent twice, and comes once more later', async () => {
    const etcd = createMemoryEtcd()
    const removals: Transaction[] = []
    const [{ name } = assert.fail()] = smallBackup.records
    const nameOfRecord = Buffer.from(clusterKeys.record(name)).toString('base64')
    await restoreInto({
      ...etcd,
      async transact(transaction) {
        if (isRemoval(transaction)) removals.push(transaction)
        const answer = await etcd.transact(transaction)
        if (transaction.success.some((one) => one.includes(nameOfRecord)))
          for (const late of removals) assert.equal((await etcd.transact(late)).succeeded, false)
        return answer
      },
    })
    assert.ok(removals.length > 0)
    const state = await readCluster(etcd, clusterKeys)
    assert.deepEqual(
      state?.index.slice(0, 10).map((record) => record.name),
      smallBackup.records.map((record) => record.name),
    )
  })

  it('ends when another one has put something there after the removal', async () => {
    const etcd = createMemoryEtcd()
    const restoring = restoreInto({
      ...etcd,
      async transact(transaction) {
        const answer = await etcd.transact(transaction)
        if (isRemoval(transaction)) await etcd.put(clusterKeys.record('theirs'), '{}')
        return answer
      },
    })
    await assert.rejects(restoring, /another restore, or a node, has begun there/)
    assert.equal(etcd.valueOf(clusterKeys.meta), undefined)
  })
})
