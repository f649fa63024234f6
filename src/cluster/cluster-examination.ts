import type { Finding } from '../storage/finding.ts'
import { counted } from '../text.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { readUsedCluster } from './cluster-backup.ts'
import { clusterDocuments } from './cluster-documents.ts'
import { refusedKey } from './cluster-error.ts'
import { storeIdOf } from './cluster-meta.ts'
import type { ClusterState } from './cluster-reading.ts'
import { parseNodeEntry } from './node-entry.ts'
import { RevokedKeys } from './revoked-keys.ts'

/** What a cluster holds. */
export interface ClusterExamination {
  readonly findings: readonly Finding[]
  readonly state: ClusterState
}

/**
 * Reads everything below the prefix, and opens the signing keys with the key file. Changes nothing.
 *
 * @throws {EtcdError} {ClusterRefusedError} for the first key that is missing, or cannot be read. {WrongKeyFileError}
 */
export async function examineCluster(access: ClusterAccess): Promise<ClusterExamination> {
  const { gateway, keys } = access
  const state = await readUsedCluster(access)
  const documents = clusterDocuments(access)
  const { users, clients } = documents.accounts.decode(state.accounts)
  const signingKeys = documents.keys.decode(state.signingKeys)
  const revoked = new RevokedKeys(gateway, keys)
  for (const kv of state.revoked) revoked.parse(kv)
  const { value } = state.meta
  const sound = (name: string, words: string) => ({ name, words, isDamage: false })
  return {
    state,
    findings: [
      sound(
        'meta',
        `store ${storeIdOf(value)}, epoch ${value.epoch}, form ${value.form}; etcd is at revision ${state.revision}`,
      ),
      sound('r/', counted(state.index.count, 'record')),
      sound('w/', nodesOf(access, state)),
      sound('auth/accounts', `${counted(users.length, 'user')}, ${counted(clients.length, 'client')}`),
      sound('auth/keys', counted(signingKeys.length, 'key')),
      sound('auth/revoked/', `${counted(state.revoked.length, 'credential')} ended before their time`),
    ],
  }
}

function nodesOf({ gateway, keys }: ClusterAccess, { nodes }: ClusterState): string {
  const last = [...nodes].map(([node, { value }]) => {
    try {
      const { batch, time = 'no time' } = parseNodeEntry(value)
      return `${node} (batch ${batch}, ${time})`
    } catch (error) {
      throw refusedKey(keys.node(node), gateway, error)
    }
  })
  return last.length === 0 ? 'no node has changed anything yet' : last.join(', ')
}
