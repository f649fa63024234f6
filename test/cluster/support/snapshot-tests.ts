import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startEtcd } from './etcd.ts'
import type { EtcdVersion } from './newer-etcd.ts'
import { missingEtcdctl, restoreSnapshot, saveSnapshot } from './snapshot.ts'

/** Snapshots of a cluster of so many members. */
export function testSnapshots({ name, skip, etcd, etcdctl }: EtcdVersion, members: number): void {
  const isMissing = skip || (etcdctl === 'etcdctl' && missingEtcdctl)
  describe(`a snapshot of ${name} with ${members} members`, { skip: isMissing }, () => {
    it('takes a cluster back, with the same URLs and ids', async (t) => {
      const cluster = await startEtcd(t, members, { program: etcd })
      const client = cluster.client()
      const clusterId = async () => {
        const { header } = await client.post('/v3/maintenance/status', {})
        return (header as { cluster_id: string }).cluster_id
      }
      const [revision, id] = [await client.put('/a', 'before'), await clusterId()]
      const file = await saveSnapshot(t, cluster, { etcdctl })
      await client.put('/a', 'after')
      await client.put('/b', 'after')
      await restoreSnapshot(cluster, file, { etcdctl })
      assert.deepEqual(
        [await client.revision(), (await client.get('/a'))?.value, await client.get('/b'), await clusterId()],
        [revision, 'before', undefined, id],
      )
    })
  })
}
