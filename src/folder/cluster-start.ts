import type { Accounts } from '../auth/accounts.ts'
import type { StoredKey } from '../auth/keys.ts'
import { createMeta, encodeMeta } from '../storage/etcd/cluster-meta.ts'
import { type ClusterState, readCluster } from '../storage/etcd/cluster-reading.ts'
import { noneIn, put } from '../storage/etcd/requests.ts'
import { transactUntilSettled } from '../storage/etcd/settled-transaction.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { clusterDocuments } from './cluster-documents.ts'

/** What a first start makes. */
interface First<Made> {
  readonly accounts: Accounts
  readonly keys: readonly StoredKey[]
  readonly made: Made
}

/** All that the prefix holds, and what this start has made there; undefined if another one did. */
export interface StartedCluster<Made> {
  readonly state: ClusterState
  readonly made: Made | undefined
}

/**
 * Reads everything below the prefix. If nothing is there, this is a first start: of several at once, one makes the accounts
 * and keys, and the others read them.
 *
 * @param make Called for a first start, perhaps in vain.
 * @throws {EtcdError} {ClusterRefusedError} {StorageFullError} {StorageUnavailableError}
 */
export async function startCluster<Made>(
  access: ClusterAccess,
  make: () => Promise<First<Made>>,
): Promise<StartedCluster<Made>> {
  const { gateway, keys } = access
  const found = await readCluster(gateway, keys)
  if (found !== undefined) return { state: found, made: undefined }
  const { accounts, keys: signingKeys, made } = await make()
  const documents = clusterDocuments(access)
  const store = createMeta()
  const transaction = {
    compare: [noneIn(keys.all.key, keys.all.end)],
    success: [
      put(keys.meta, encodeMeta(store)),
      put(keys.sequence, '0'),
      put(keys.accounts, documents.accounts.encode(accounts)),
      put(keys.signingKeys, documents.keys.encode(signingKeys)),
    ],
    failure: [],
  }
  await transactUntilSettled(gateway, transaction, 'the prefix')
  const state = await readCluster(gateway, keys)
  if (state === undefined) throw new Error('the prefix is empty after a first start')
  // An attempt whose answer was lost may have been the one that was done.
  return { state, made: state.meta.value.store === store.store ? made : undefined }
}
