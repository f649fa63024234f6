import type { ClusterKeys } from './cluster-keys.ts'
import { encodeMeta } from './cluster-meta.ts'
import type { ClusterState } from './cluster-reading.ts'
import type { Gateway } from './gateway.ts'
import { modIs, put } from './requests.ts'

/**
 * Gives all tags of a store that etcd has from a snapshot another beginning: revisions of before may have been used for
 * other changes. Another node may be faster; either way, everything must be read again.
 *
 * @param least The new epoch is above it.
 * @throws {EtcdError}
 */
export async function raiseEpoch(
  gateway: Gateway,
  keys: ClusterKeys,
  { meta }: Pick<ClusterState, 'meta'>,
  least: number,
): Promise<void> {
  const epoch = Math.max(meta.value.epoch, least) + 1
  await gateway.transact({
    compare: [modIs(keys.meta, meta.modRevision)],
    success: [put(keys.meta, encodeMeta({ ...meta.value, epoch }))],
    failure: [],
  })
}
