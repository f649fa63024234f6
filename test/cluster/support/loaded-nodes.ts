import assert from 'node:assert/strict'
import { getToken } from '../../support/api.ts'
import { createClient } from '../../support/http-client.ts'
import { createRandom, type Random } from '../../support/random.ts'
import { client } from '../../support/service.ts'
import type { Lifetime } from '../../support/temporary-folder.ts'
import { type EtcdCluster, startEtcd } from './etcd.ts'
import { readRecords, readSteps } from './etcd-history.ts'
import { type EtcdProxy, startEtcdProxy } from './etcd-proxy.ts'
import { type Load, readList, startLoad } from './load.ts'
import { nodePlace } from './node.ts'
import { type NodeProcess, startNodeProcess } from './node-process.ts'
import { findFaults } from './oracle.ts'

/** Acknowledged changes before anything is disturbed. */
const CHANGES = 20

/** Nodes on an etcd of three members, with clients at work. */
export interface LoadedNodes {
  readonly random: Random
  readonly cluster: EtcdCluster
  readonly nodes: readonly NodeProcess[]
  readonly load: Load
  /** By node, the proxies between it and each member; none if they were not asked for. */
  readonly proxies: readonly (readonly EtcdProxy[])[]
  /** Ends the load, and compares all that clients saw with all that etcd has done and what each node shows in the end. */
  check(): Promise<void>
}

/**
 * @param program The etcd.
 * @param hasProxies Whether each node reaches etcd through proxies of its own.
 */
export async function startLoadedNodes(
  t: Lifetime & { diagnostic(message: string): void },
  {
    program,
    count,
    hasProxies = false,
    answerMs,
  }: { program: string; count: number; hasProxies?: boolean; answerMs?: number },
): Promise<LoadedNodes> {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const cluster = await startEtcd(t, 3, { program })
  const common = await nodePlace(t, cluster.urls)
  const nodes: NodeProcess[] = []
  const proxies: EtcdProxy[][] = []
  for (let i = 0; i < count; i++) {
    const own = hasProxies ? await Promise.all(cluster.urls.map((url) => startEtcdProxy(t, url))) : []
    const place = hasProxies ? { ...common, etcd: own.map(({ url }) => url) } : common
    proxies.push(own)
    nodes.push(await startNodeProcess(t, place, { name: `node ${i}` }))
  }
  const load = await startLoad(t, nodes, { random, ...(answerMs === undefined ? {} : { answerMs }) })
  await load.more(CHANGES)
  return { random, cluster, nodes, proxies, load, check }

  async function check() {
    await load.stop()
    const [member] = cluster.members
    assert.ok(member)
    const ends = [{ where: 'etcd', records: await readRecords(member, common.prefix) }]
    for (const { name, url } of nodes) {
      const ask = createClient(url, await getToken(url, client))
      const list = await ask('GET', '/configurations/', { headers: { 'Cache-Control': 'no-cache' } })
      ends.push({ where: name, records: readList(list).records })
    }
    const { operations, reads } = load
    const outcomes = Map.groupBy(operations, ({ outcome }) =>
      outcome.kind === 'refused' ? `refused ${outcome.status}` : outcome.kind,
    )
    const counts = [...outcomes].map(([outcome, { length }]) => `${length} ${outcome}`)
    t.diagnostic(`changes: ${counts.join(', ')}; ${reads.length} lists`)
    assert.deepEqual(
      findFaults({ operations, reads, steps: await readSteps(member, common.prefix), ends }),
      [],
    )
  }
}
