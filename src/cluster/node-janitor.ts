import { NODE_KEY_DAYS } from '../limits.ts'
import type { Log } from '../log.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import { EtcdError } from './etcd-error.ts'
import type { Gateway } from './gateway.ts'
import { parseNodeEntry } from './node-entry.ts'
import { modIs, remove } from './requests.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Removes the keys of nodes that have changed nothing for NODE_KEY_DAYS, now and once a day. The newest of all stays,
 * because it has the revision of the records.
 *
 * @param now In ms since 1970.
 * @returns Stops it.
 */
export function watchNodeKeys(gateway: Gateway, keys: ClusterKeys, log: Log, now: () => number): () => void {
  const clean = () =>
    removeUnused(gateway, keys, now()).then(
      (removed) => {
        if (removed.length > 0) log.info('cluster_nodes_removed', { nodes: removed.join(' ') })
      },
      (error: unknown) => {
        // It is done again tomorrow.
        if (!(error instanceof EtcdError)) log.error('cluster_nodes_not_removed', { reason: String(error) })
      },
    )
  void clean()
  const timer = setInterval(clean, DAY_MS).unref()
  return () => clearInterval(timer)
}

/** @returns The ids of the nodes whose keys are gone. @throws {EtcdError} {SyntaxError} {NewerFormError} */
export async function removeUnused(gateway: Gateway, keys: ClusterKeys, now: number): Promise<string[]> {
  const { kvs } = await gateway.range(keys.nodes)
  const newest = Math.max(...kvs.map(({ modRevision }) => modRevision))
  const removed: string[] = []
  for (const { key, value, modRevision } of kvs) {
    const { time } = parseNodeEntry(value)
    const isOld = time === undefined || Date.parse(time) <= now - NODE_KEY_DAYS * DAY_MS
    if (modRevision === newest || !isOld) continue
    const { succeeded } = await gateway.transact({
      compare: [modIs(key, modRevision)],
      success: [remove(key)],
      failure: [],
    })
    if (succeeded) removed.push(keys.nodeOf(key) ?? '')
  }
  return removed
}
