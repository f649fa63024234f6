import { type Cluster, callEtcd, recordRanges, startCluster } from './cluster.ts'
import { copyOf, newPath } from './data-folders.ts'
import type { Sample } from './figure.ts'
import { settledMemory } from './memory.ts'
import { countText } from './prepared-folders.ts'
import { LONG_ROUNDS, measureInTurn } from './rounds.ts'
import { ratioAtMost, rowsOf, type Section } from './row.ts'
import type { ServerProcess } from './server-process.ts'
import { startConnbook } from './servers.ts'

/** As a node reads them. */
const RANGES_AT_ONCE = 4

/**
 * From the start of a node to its readiness, beside reading the same ranges without taking them in; and its memory, beside
 * that of a server on a folder with the same records.
 */
export async function measureClusterStarts(
  prepared: string,
  records: number,
  workshop: string,
): Promise<Section> {
  await using cluster = await startCluster(prepared, workshop, 1)
  const folders = { node: await newPath(workshop), file: await copyOf(prepared, workshop) }
  const [node, bare, onFolder] = await measureInTurn(
    [
      { name: 'connbook', measure: () => startNode(cluster, folders.node) },
      { name: 'bare reading', measure: () => readRanges(cluster.leader) },
      { name: 'file store', measure: () => startOnFolder(folders.file) },
    ],
    LONG_ROUNDS,
  )
  const work = `node of a cluster with ${countText(records)} records`
  return {
    title: `Start and memory of a ${work}`,
    rows: [
      ...rowsOf(`start of a ${work}`, node, bare, { readyMilliseconds: ratioAtMost(1.5) }),
      ...rowsOf(work, node, onFolder, { residentMebibytes: undefined }),
    ],
  }
}

async function startNode(cluster: Cluster, folder: string): Promise<Sample> {
  const begin = performance.now()
  await using node = await cluster.startNode(cluster.leader, folder)
  const readyMilliseconds = performance.now() - begin
  return { readyMilliseconds, residentMebibytes: (await settledMemory(node)).resident }
}

async function startOnFolder(folder: string): Promise<Sample> {
  await using server = await startConnbook(folder)
  return { residentMebibytes: (await settledMemory(server)).resident }
}

async function readRanges(etcd: ServerProcess): Promise<Sample> {
  const begin = performance.now()
  const ranges = recordRanges()
  const readNext = async () => {
    for (let range = ranges.pop(); range !== undefined; range = ranges.pop())
      await callEtcd(etcd, '/v3/kv/range', range)
  }
  await Promise.all(Array.from({ length: RANGES_AT_ONCE }, readNext))
  return { readyMilliseconds: performance.now() - begin }
}
