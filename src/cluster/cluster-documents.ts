import { type Accounts, hasAdmin } from '../auth/accounts.ts'
import { accountsForm } from '../auth/accounts-file.ts'
import { keysForm, type StoredKey } from '../auth/keys.ts'
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
