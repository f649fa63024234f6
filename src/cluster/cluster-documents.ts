import { type Accounts, hasAdmin } from '../auth/accounts.ts'
import { accountsForm } from '../auth/accounts-file.ts'
import type { CredentialStorage, InitialSecrets } from '../auth/credential-storage.ts'
import { forgetInitialCredentials } from '../auth/initial-credentials.ts'
import { keysForm, type StoredKey } from '../auth/keys.ts'
import { type DataPaths, dataFiles } from '../files/data-folder.ts'
import { wordForShell } from '../shell.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { EtcdDocument } from './etcd-document.ts'

/** The accounts and signing keys of a cluster. */
export interface ClusterDocuments {
  readonly accounts: EtcdDocument<Accounts>
  readonly keys: EtcdDocument<readonly StoredKey[]>
}

export function clusterDocuments({ gateway, keys, sealer }: ClusterAccess): ClusterDocuments {
  return {
    accounts: new EtcdDocument({
      gateway,
      key: keys.accounts,
      name: 'accounts',
      form: accountsForm,
      oldestVersion: oldestVersionOf,
    }),
    keys: new EtcdDocument<readonly StoredKey[]>({
      gateway,
      key: keys.signingKeys,
      name: 'keys',
      form: keysForm,
      sealer,
    }),
  }
}

/** Version 1 of accounts has neither admins nor grants. */
function oldestVersionOf(accounts: Accounts): number {
  const isLimited = [...accounts.users, ...accounts.clients].some(({ grants }) => grants !== undefined)
  return hasAdmin(accounts) || isLimited ? accountsForm.version : 1
}

/**
 * The accounts and keys of a cluster.
 *
 * @param folder The folder of this node, which may have made up the first credentials; undefined for a command that
 *   changes nothing.
 */
export function clusterCredentials(
  { place, flags }: ClusterAccess,
  { accounts, keys }: ClusterDocuments,
  folder: DataPaths | undefined,
): CredentialStorage {
  const data = folder === undefined ? '' : ` --data ${wordForShell(folder.path)}`
  return {
    place,
    commandOf: (words) => `connbook ${words}${data} ${flags}`,
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
