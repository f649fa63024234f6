import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { extent } from '../../support/extent.ts'
import { startEtcd } from './etcd.ts'
import { etcdVersions } from './newer-etcd.ts'
import { missingEtcdctl, restoreSnapshot, saveSnapshot } from './snapshot.ts'

const MEMBERS = extent({ quick: 1, full: 3 })

for (const { name, skip, etcd, etcdctl } of await etcdVersions({ after })) {
  const isMissing = skip || (etcdctl === 'etcdctl' && missingEtcdctl)
  describe(`a snapshot of ${name}`, { skip: isMissing }, () => {
    it('takes a cluster back, with the same URLs and ids', async (t) => {
      const cluster = await startEtcd(t, MEMBERS, { program: etcd })
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
