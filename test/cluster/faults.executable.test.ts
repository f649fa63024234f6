import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { getToken } from '../support/api.ts'
import { extent } from '../support/extent.ts'
import { createClient } from '../support/http-client.ts'
import { createRandom } from '../support/random.ts'
import { client } from '../support/service.ts'
import type { Lifetime } from '../support/temporary-folder.ts'
import {
  type Disturbance,
  disturbancesOf,
  disturbancesOfLeader,
  disturbancesOfQuorum,
} from './support/disturbances.ts'
import { type EtcdCluster, startEtcd } from './support/etcd.ts'
import { readRecords, readSteps } from './support/etcd-history.ts'
import { type Load, readList, startLoad } from './support/load.ts'
import { etcdVersions } from './support/newer-etcd.ts'
import { nodePlace } from './support/node.ts'
import { type NodeProcess, startNodeProcess } from './support/node-process.ts'
import { findFaults } from './support/oracle.ts'

const NODES = extent({ quick: 2, full: 3 })
const ROUNDS = extent({ quick: 1, full: 3 })
/** Acknowledged changes during and after each disturbance. */
const CHANGES = extent({ quick: 30, full: 200 })

for (const { name, skip, etcd } of await etcdVersions({ after }))
  describe(`nodes on ${name} under load`, { skip }, () => {
    it('keep all promises while members and nodes are killed, frozen and flapping', async (t) => {
      const { cluster, nodes, prefix, load } = await setUp(t, etcd)
      const all = [...disturbancesOf(cluster, nodes), ...disturbancesOfLeader(cluster)]
      const some = extent({
        quick: all.filter(({ what }) => /^(the leader|node 0) (frozen|killed)/.test(what)),
        full: all,
      })
      for (let round = 0; round < ROUNDS; round++)
        for (const disturbance of some) await disturb(t, load, disturbance)
      await check({ cluster, nodes, prefix, load })
    })

    it('keep all promises when the quorum is lost and comes back', async (t) => {
      const { cluster, nodes, prefix, load } = await setUp(t, etcd)
      for (const { what, begin, end } of disturbancesOfQuorum(cluster)) {
        await begin()
        const { length } = load.operations
        await load.tried(nodes.length)
        await end()
        await load.more(CHANGES)
        t.diagnostic(`${what}: ${load.operations.length - length} changes tried`)
      }
      await check({ cluster, nodes, prefix, load })
    })
  })

interface Run {
  readonly cluster: EtcdCluster
  readonly nodes: readonly NodeProcess[]
  readonly prefix: string
  readonly load: Load
}

async function setUp(t: Lifetime & { diagnostic(message: string): void }, program: string): Promise<Run> {
  const random = createRandom()
  t.diagnostic(`seed ${random.seed}`)
  const cluster = await startEtcd(t, 3, { program })
  const place = await nodePlace(t, cluster.urls)
  const nodes: NodeProcess[] = []
  for (let i = 0; i < NODES; i++) nodes.push(await startNodeProcess(t, place, { name: `node ${i}` }))
  const load = await startLoad(t, nodes, { random })
  await load.more(CHANGES)
  return { cluster, nodes, prefix: place.prefix, load }
}

async function disturb(
  t: { diagnostic(message: string): void },
  load: Load,
  { what, begin, end }: Disturbance,
) {
  const begun = performance.now()
  await begin()
  await load.more(CHANGES)
  await end()
  await load.more(CHANGES)
  t.diagnostic(`${what}: ${(performance.now() - begun).toFixed()} ms`)
}

/** Compares all that clients saw with all that etcd has done, and with what each node shows in the end. */
async function check({ cluster, nodes, prefix, load }: Run) {
  await load.stop()
  const [member] = cluster.members
  assert.ok(member)
  const ends = [{ where: 'etcd', records: await readRecords(member, prefix) }]
  for (const { name, url } of nodes) {
    const ask = createClient(url, await getToken(url, client))
    const list = await ask('GET', '/configurations/', { headers: { 'Cache-Control': 'no-cache' } })
    ends.push({ where: name, records: readList(list).records })
  }
  const { operations, reads } = load
  const faults = findFaults({ operations, reads, steps: await readSteps(member, prefix), ends })
  assert.deepEqual(faults, [])
}
