import { OutcomeUnknownError, StorageUnavailableError } from '../errors.ts'
import { DamagedKeyError } from './cluster-error.ts'
import { EtcdError } from './etcd-error.ts'

export type ClusterFailure = 'not_let_in' | 'not_reached' | 'damaged'

/** In what way a cluster could not be used; undefined for other errors. */
export function clusterFailureOf(error: unknown): ClusterFailure | undefined {
  if (error instanceof DamagedKeyError) return 'damaged'
  // The error of a change that was tried again for a while has that of etcd as its cause.
  const isOfChange = error instanceof StorageUnavailableError || error instanceof OutcomeUnknownError
  const found = isOfChange ? error.cause : error
  return found instanceof EtcdError ? failures[found.reason] : undefined
}

const failures: { readonly [Reason in EtcdError['reason']]?: ClusterFailure } = {
  denied: 'not_let_in',
  login_failed: 'not_let_in',
  common_name: 'not_let_in',
  unreachable: 'not_reached',
  timed_out: 'not_reached',
  unavailable: 'not_reached',
  tls: 'not_reached',
  unexpected: 'not_reached',
}
