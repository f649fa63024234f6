import { startCluster, toBase64 } from './cluster.ts'
import type { Load } from './load.ts'
import { loadContender } from './load-contender.ts'
import { countText, FEW } from './prepared-folders.ts'
import { measureInTurn } from './rounds.ts'
import { ratioAtMost, rowsOf, type Section } from './row.ts'
import { type Connbook, getBearer } from './servers.ts'

const MEMBERS = 3
const paths = ['/configurations/record-500'] as const

/**
 * Reads from the memory of a node, beside those of a server on a folder; and reads that ask etcd whether the memory is
 * current, beside reads of a key at the gateway.
 */
export async function compareClusterReads(
  few: string,
  onFolder: Connbook,
  workshop: string,
): Promise<Section> {
  await using cluster = await startCluster(few, workshop, MEMBERS)
  await using node = await cluster.startNode(cluster.leader)
  const headers = await getBearer(node)
  const range: Load = {
    method: 'POST',
    paths: ['/v3/kv/range'],
    body: JSON.stringify({ key: toBase64('/connbook/meta') }),
  }
  const [ofNode, ofFolder, current, bare] = await measureInTurn([
    loadContender('connbook', node, { paths, headers }),
    loadContender('file store', onFolder, { paths, headers: await getBearer(onFolder) }),
    loadContender('connbook', node, { paths, headers: { ...headers, 'Cache-Control': 'no-cache' } }),
    loadContender('raw gateway', cluster.leader, range),
  ])
  return {
    title: `GET one record of ${countText(FEW)} from a node of a cluster; the raw gateway reads one key, with a quorum`,
    rows: [
      ...rowsOf('GET one record in a cluster', ofNode, ofFolder, {
        cpuMicroseconds: ratioAtMost(1.05),
        perSecond: undefined,
      }),
      ...rowsOf('GET one record in a cluster, no-cache', current, bare, {
        perSecond: undefined,
        latencyP50: undefined,
        latencyP99: undefined,
      }),
    ],
  }
}
