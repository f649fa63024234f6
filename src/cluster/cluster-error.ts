import { ConnbookError, NewerFormError } from '../errors.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import type { Gateway } from './gateway.ts'

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
