import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CLUSTER_SMALL_RECORDS, readCluster } from '../../src/cluster/cluster-reading.ts'
import { EtcdError } from '../../src/cluster/etcd-error.ts'
import type { Gateway } from '../../src/cluster/gateway.ts'
import { beginCluster, clusterKeys } from '../support/cluster-node.ts'
import { createMemoryEtcd } from '../support/memory-etcd.ts'

describe('a reading of many records', () => {
  it('that fails asks for nothing more', async () => {
    const etcd = createMemoryEtcd()
    await beginCluster(etcd)
    // The first range has so many keys that the others are read one by one.
    const [first = assert.fail()] = clusterKeys.slices
    const many = Math.ceil(CLUSTER_SMALL_RECORDS / clusterKeys.slices.length) + 1
    for (let i = 0; i < many; i++) await etcd.put(clusterKeys.revokedToken(`t${i}`), '{"exp":1}')
    const [failing = assert.fail()] = clusterKeys.slices.slice(1)
    const stopped: unknown[] = []
    let asked = 0
    const gateway: Gateway = {
      ...etcd,
      async range(query, options) {
        if (query.key === first.key || query.key === clusterKeys.meta) return etcd.range(query)
        asked += 1
        if (query.key === failing.key)
          throw new EtcdError(etcd.endpoint, 'timed_out', 'made by the test', { isUndone: true })
        const { promise, reject } = Promise.withResolvers<never>()
        options?.signal?.addEventListener('abort', () => {
          stopped.push(query.key)
          reject(options.signal?.reason)
        })
        return promise
      },
    }
    await assert.rejects(readCluster(gateway, clusterKeys), /made by the test/)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(stopped.length, asked - 1)
    assert.ok(stopped.length > 0)
  })
})
