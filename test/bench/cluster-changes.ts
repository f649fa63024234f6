import { addOfNew, putOfNew } from './adds.ts'
import { startCluster } from './cluster.ts'
import type { Sample } from './figure.ts'
import { loadContender } from './load-contender.ts'
import { measureInTurn } from './rounds.ts'
import { type Row, ratioAtLeast, rowsOf, type Section } from './row.ts'
import { getBearer } from './servers.ts'

/** With the ratio to reach, if any. */
const wanted = [
  { connections: 1 },
  { connections: 32, target: ratioAtLeast(1) },
  { connections: 128, target: ratioAtLeast(1.5) },
] as const
const MEMBERS = 3
/** The compiler needs some 20,000 adds; without etcd, a server makes as many in the usual time. */
const FIRST_WARM_UP_MS = 15_000

/** Adds on one node and on two, beside puts of the same bytes at the gateway of the same member, which leads. */
export async function compareClusterChanges(few: string, workshop: string): Promise<Section> {
  await using cluster = await startCluster(few, workshop, MEMBERS)
  await using one = await cluster.startNode(cluster.leader)
  const headers = await getBearer(one)
  const rows: Row[] = []
  const ofMost = { connections: wanted[2].connections }
  // Both, so that etcd meets as much of what is there already.
  for (const { warmUp } of [
    loadContender('one node', one, { ...addOfNew, headers, ...ofMost }, FIRST_WARM_UP_MS),
    loadContender('raw gateway', cluster.leader, { ...putOfNew, ...ofMost }, FIRST_WARM_UP_MS),
  ])
    await warmUp()
  for (const { connections, ...more } of wanted) {
    const [ofOne, bare] = await measureInTurn([
      loadContender('one node', one, { ...addOfNew, headers, connections }),
      loadContender('raw gateway', cluster.leader, { ...putOfNew, connections }),
    ])
    rows.push(
      ...rowsOf(`add in a cluster, ${countOf(connections)}`, ofOne, bare, {
        perSecond: 'target' in more ? more.target : undefined,
        latencyP50: undefined,
        latencyP99: undefined,
      }),
    )
  }
  // Not before: it hears of every change, which costs etcd time.
  await using other = await cluster.startNode(cluster.leader)
  await loadContender('other', other, { ...addOfNew, headers, ...ofMost }, FIRST_WARM_UP_MS).warmUp()
  for (const { connections } of wanted) {
    const half = { ...addOfNew, headers, connections: Math.max(1, connections / 2) }
    const halves = [loadContender('one', one, half), loadContender('other', other, half)]
    const both = {
      name: 'two nodes',
      warmUp: () => Promise.all(halves.map(({ warmUp }) => warmUp())),
      measure: async () => sumOf(await Promise.all(halves.map(({ measure }) => measure()))),
    }
    const raw = loadContender('raw gateway', cluster.leader, {
      ...putOfNew,
      connections: 2 * half.connections,
    })
    const [ofTwo, bare] = await measureInTurn([both, raw])
    const count = countOf(2 * half.connections)
    rows.push(...rowsOf(`add in a cluster, ${count} to two nodes`, ofTwo, bare, { perSecond: undefined }))
  }
  return {
    title: `Adds in a cluster of ${MEMBERS} members of etcd; the raw gateway gets the same bytes as puts, at the same member, which leads`,
    rows,
  }
}

function countOf(connections: number): string {
  return `${connections} connection${connections === 1 ? '' : 's'}`
}

function sumOf(samples: readonly Sample[]): Sample {
  return { perSecond: samples.reduce((sum, { perSecond = Number.NaN }) => sum + perSecond, 0) }
}
