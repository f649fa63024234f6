import type { CredentialStorage, InitialSecrets } from '../auth/credential-storage.ts'
import { forgetInitialCredentials } from '../auth/initial-credentials.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { wordForShell } from '../shell.ts'
import type { ClusterAccess } from './cluster-access.ts'
import type { ClusterDocuments } from './cluster-documents.ts'

/**
 * The accounts and keys of a cluster.
 *
 * @param folder Of this node, which may have made up the first credentials; undefined for a command that changes nothing.
 */
export function clusterCredentials(
  { place, flags }: ClusterAccess,
  { accounts, keys }: ClusterDocuments,
  folder: DataPaths | undefined,
): CredentialStorage {
  const data = folder === undefined ? '' : ` --data ${wordForShell(folder.path)}`
  return {
    place,
    addingCommand: `connbook user add NAME${data} ${flags}`,
    accounts,
    keys,
    initial: folder === undefined ? undefined : initialOf(folder),
    // Each node has a clock of its own.
    latestMoment: async () => 0,
    hasRevocations: async () => true,
  }
}

function initialOf(folder: DataPaths): InitialSecrets {
  return {
    file: folder.file(dataFiles.initialCredentials),
    forget: (kind, name) => forgetInitialCredentials(folder, kind, name),
  }
}
