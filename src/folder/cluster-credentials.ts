import type { CredentialStorage } from '../auth/credential-storage.ts'
import { forgetInitialCredentials } from '../auth/initial-credentials.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import type { ClusterAccess } from './cluster-access.ts'
import type { ClusterDocuments } from './cluster-documents.ts'

/** The accounts and keys of a cluster. @param folder Of this node, which may have made up the first credentials. */
export function clusterCredentials(
  { place }: ClusterAccess,
  { accounts, keys }: ClusterDocuments,
  folder: DataPaths,
): CredentialStorage {
  return {
    place,
    addingCommand: 'connbook user add NAME, with the same --etcd flags',
    accounts,
    keys,
    initial: {
      file: folder.file(dataFiles.initialCredentials),
      forget: (kind, name) => forgetInitialCredentials(folder, kind, name),
    },
    // Each node has a clock of its own.
    latestMoment: async () => 0,
    hasRevocations: async () => true,
  }
}
