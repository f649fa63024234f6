import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Gateway } from '../../src/cluster/gateway.ts'
import { listMissed } from '../../src/cluster/missed-changes.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { clusterKeys } from '../support/cluster-node.ts'
import { createMemoryEtcd, type MemoryEtcd } from '../support/memory-etcd.ts'
import { draft } from '../support/store.ts'

const key = clusterKeys.record('a')

/** What a node lists that has heard of all but the last change. */
async function listLast(etcd: MemoryEtcd, gateway: Gateway = etcd) {
  const lines: string[] = []
  const trail = {
    listed: async () => () => undefined,
    list: (_: string, change: object) => void lines.push(Object.keys(change)[0] ?? ''),
    sync: async () => {},
  }
  const { revision } = etcd
  const missed = { store: 's', after: revision - 1, upTo: revision }
  return { isComplete: await listMissed(gateway, clusterKeys, trail, missed), lines }
}

/** etcd, when it has compacted what was there before the events. */
function withoutPast(etcd: MemoryEtcd): Gateway {
  return {
    ...etcd,
    async *watch(watched) {
      for await (const message of etcd.watch(watched)) {
        if (message.kind !== 'events') yield message
        else yield { ...message, events: message.events.map((event) => ({ ...event, previous: undefined })) }
      }
    },
  }
}

describe('the changes that a node has missed', () => {
  it('are listed', async () => {
    const etcd = createMemoryEtcd()
    await etcd.put(key, new Configuration(1, draft('a')).json)
    assert.deepEqual(await listLast(etcd), { isComplete: true, lines: ['add'] })
    await etcd.put(key, new Configuration(1, draft('a', { port: 7 })).json)
    assert.deepEqual(await listLast(etcd), { isComplete: true, lines: ['modify'] })
    etcd.remove(key)
    assert.deepEqual(await listLast(etcd), { isComplete: true, lines: ['remove'] })
  })

  it('are not listed as others when etcd does not know any more what was there before', async () => {
    const etcd = createMemoryEtcd()
    await etcd.put(key, new Configuration(1, draft('a')).json)
    assert.deepEqual(await listLast(etcd, withoutPast(etcd)), { isComplete: true, lines: ['add'] })
    await etcd.put(key, new Configuration(1, draft('a', { port: 7 })).json)
    assert.deepEqual(await listLast(etcd, withoutPast(etcd)), { isComplete: false, lines: [] })
    etcd.remove(key)
    assert.deepEqual(await listLast(etcd, withoutPast(etcd)), { isComplete: false, lines: [] })
  })
})
