import { ConnbookError, NewerFormError, OutcomeUnknownError, StorageUnavailableError } from '../errors.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import { EtcdError } from './etcd-error.ts'
import type { Gateway } from './gateway.ts'

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

/** What etcd holds below the prefix is not what a connbook wrote there, or is not for this node. */
export class ClusterRefusedError extends ConnbookError {
  readonly code = 'cluster_refused'
}

/** A key of connbook cannot be read. */
export class DamagedKeyError extends ClusterRefusedError {}

/** A key whose value cannot be read. @param error What its parser threw. */
export function refusedKey(key: string, { endpoint }: Pick<Gateway, 'endpoint'>, error: unknown) {
  // A NewerFormError expects a place to follow.
  const reason = (error instanceof Error ? error.message : String(error)).replace(/,$/, '')
  const remedy =
    error instanceof NewerFormError
      ? 'use the connbook that wrote it, or a newer one'
      : 'put it back, or restore a backup into another prefix with "connbook restore FILE --etcd URL --etcd-prefix PREFIX"'
  return new DamagedKeyError(`Cannot read the key "${key}" of etcd at ${endpoint}: ${reason}; ${remedy}`, {
    cause: error,
  })
}

/** A key without which no store is complete. */
export function missingKey(key: string, gateway: Pick<Gateway, 'endpoint'>) {
  return refusedKey(key, gateway, new SyntaxError('it is missing'))
}

/** For those who fill a prefix. */
export function inUse({ prefix }: ClusterKeys, { endpoint }: Pick<Gateway, 'endpoint'>) {
  return new ClusterRefusedError(
    `Cannot restore to the prefix "${prefix}" of etcd at ${endpoint}: it is in use; name another with --etcd-prefix, or stop all nodes and remove its keys with etcdctl`,
  )
}

/** For those who only use what is there. */
export function nothingThere({ prefix }: ClusterKeys, { endpoint }: Pick<Gateway, 'endpoint'>) {
  return new ClusterRefusedError(
    `Cannot find anything of connbook below the prefix "${prefix}" of etcd at ${endpoint}; name another with --etcd-prefix, or start connbook with --etcd to make it`,
  )
}

/** For a node that was part of a store. @param folder Its data folder. */
export function emptyNow({ prefix }: ClusterKeys, { endpoint }: Pick<Gateway, 'endpoint'>, folder: string) {
  return new ClusterRefusedError(
    `Cannot find the records of the node in "${folder}": the prefix "${prefix}" of etcd at ${endpoint} is empty; check --etcd and --etcd-prefix, or restore a backup there; to begin a new store, name an empty folder with --data`,
  )
}

/** @param key One that connbook did not write. */
export function foreignKey(key: string, { prefix }: ClusterKeys, { endpoint }: Pick<Gateway, 'endpoint'>) {
  return new ClusterRefusedError(
    `Cannot use the prefix "${prefix}" of etcd at ${endpoint}: the key "${key}" there is not connbook's; name another prefix with --etcd-prefix, or remove that key`,
  )
}

/** A restore into the prefix was not completed. */
export function incomplete({ prefix, meta }: ClusterKeys, { endpoint }: Pick<Gateway, 'endpoint'>) {
  return new ClusterRefusedError(
    `Cannot use the prefix "${prefix}" of etcd at ${endpoint}: the key "${meta}" is missing, but others are there; if a restore was broken off there, run it again; otherwise check --etcd-prefix`,
  )
}

export type ClusterFailure = 'not_let_in' | 'not_reached' | 'damaged'

/** In what way a cluster could not be used; undefined for other errors. */
export function clusterFailureOf(error: unknown): ClusterFailure | undefined {
  if (error instanceof DamagedKeyError) return 'damaged'
  // The error of a change that was tried again for a while has that of etcd as its cause.
  const isOfChange = error instanceof StorageUnavailableError || error instanceof OutcomeUnknownError
  const found = isOfChange ? error.cause : error
  return found instanceof EtcdError ? failures[found.reason] : undefined
}
