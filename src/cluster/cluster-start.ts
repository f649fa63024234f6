import type { Accounts } from '../auth/accounts.ts'
import type { StoredKey } from '../auth/keys.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { clusterDocuments } from './cluster-documents.ts'
import { type ClusterMeta, encodeMeta } from './cluster-meta.ts'
import { type ClusterState, readCluster } from './cluster-reading.ts'
import { noneIn, put } from './messages.ts'
import { transactUntilSettled } from './settled-transaction.ts'

/** What a first start makes. */
export interface NewStore {
  readonly meta: ClusterMeta
  readonly accounts: Accounts
  readonly keys: readonly StoredKey[]
}

/**
 * Reads everything below the prefix. If nothing is there, this is a first start: of several at once, one makes the store,
 * and the others read it.
 *
 * @param make Called for a first start, perhaps in vain: the store that is read may be that of another one. If this call is
 *   repeated, it must give the same each time.
 * @throws {EtcdError} {ClusterRefusedError} {StorageFullError} {StorageUnavailableError} {OutcomeUnknownError} It may be
 *   repeated.
 */
export async function startCluster(
  access: ClusterAccess,
  make: () => Promise<NewStore>,
): Promise<ClusterState> {
  const { gateway, keys } = access
  const found = await readCluster(gateway, keys)
  if (found !== undefined) return found
  const { meta, accounts, keys: signingKeys } = await make()
  const documents = clusterDocuments(access)
  const transaction = {
    compare: [noneIn(keys.all.key, keys.all.end)],
    success: [
      put(keys.meta, encodeMeta(meta)),
      put(keys.sequence, '0'),
      put(keys.accounts, documents.accounts.encode(accounts)),
      put(keys.signingKeys, documents.keys.encode(signingKeys)),
    ],
    failure: [],
  }
  await transactUntilSettled(gateway, transaction, 'the prefix')
  const state = await readCluster(gateway, keys)
  if (state === undefined) throw new Error('the prefix is empty after a first start')
  return state
}
