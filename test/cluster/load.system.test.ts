import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { disturbancesOfLeader } from './support/disturbances.ts'
import { missingEtcd } from './support/etcd.ts'
import { startLoadedNodes } from './support/loaded-nodes.ts'

/** Acknowledged changes during each disturbance. */
const CHANGES = 30
const LOST_SHARE = 0.1

describe('nodes under load', { skip: missingEtcd }, () => {
  it('keep all promises when connections break late, and when the leader is killed', async (t) => {
    const options = { program: 'etcd', count: 2, hasProxies: true }
    const { cluster, random, proxies, load, check } = await startLoadedNodes(t, options)
    let lost = 0
    const onLoss = () => {
      lost += 1
    }
    for (const proxy of proxies.flat()) proxy.lose({ share: LOST_SHARE, random, when: 'late', onLoss })
    while (lost === 0) await load.more(CHANGES)
    for (const proxy of proxies.flat()) proxy.lose(undefined)
    const killed = disturbancesOfLeader(cluster).find(({ what }) => what.endsWith('killed'))
    assert.ok(killed)
    await killed.begin()
    await load.more(CHANGES)
    await killed.end()
    await load.more(CHANGES)
    await load.stop()
    for (const proxy of proxies.flat()) await proxy.drained()
    await check()
  })
})
