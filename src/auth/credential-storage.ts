import type { SharedDocument } from '../files/shared-document.ts'
import type { AccountKind, Accounts } from './accounts.ts'
import type { StoredKey } from './keys.ts'

/** Where accounts and signing keys are kept: in a folder, or for all nodes of a cluster in etcd. */
export interface CredentialStorage {
  /** The shell command of some words, such as `user add NAME`, that works on these accounts. */
  readonly commandOf: (words: string) => string
  readonly accounts: SharedDocument<Accounts>
  /** The keys; an empty list until the next start makes one. */
  readonly keys: SharedDocument<readonly StoredKey[]>
  /** Undefined if they are kept nowhere. */
  readonly initial: InitialSecrets | undefined
}

/** The credentials that the first start made up, in plain text. */
export interface InitialSecrets {
  /** The file that holds them. */
  readonly file: string
  /** Removes those of an account, which have just been changed. */
  forget(kind: AccountKind, name: string): Promise<void>
}
