import { StorageFullError, StorageUnavailableError, TooManyChangesError } from '../errors.ts'
import { CLUSTER_IMPORT_BYTES_MAX, CLUSTER_IMPORT_CHANGES_MAX } from '../limits.ts'
import { type Change, namesOf } from '../store/change.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import type { EtcdError } from './etcd-error.ts'

/** For a change that was not made in time. */
export function notTaken(cause?: unknown): StorageUnavailableError {
  return new StorageUnavailableError('Cannot store the change: etcd takes no changes now; try later', {
    cause,
  })
}

/** For a single change that etcd finds too large. */
export function tooLarge(): TooManyChangesError {
  return new TooManyChangesError(
    'Cannot store so much at once: etcd refuses it as too large; make it several',
  )
}

/** What a change is refused with that no other attempt would make; undefined if another one may. */
export function finalRefusal(error: EtcdError): Error | undefined {
  switch (error.reason) {
    case 'no_space':
      return new StorageFullError('Cannot store the change: etcd is full', { cause: error })
    case 'denied':
    case 'login_failed':
    case 'common_name':
    case 'unexpected':
      return new StorageUnavailableError('Cannot store the change: etcd refuses it; see the log', {
        cause: error,
      })
    default:
      return undefined
  }
}

/** @throws {TooManyChangesError} if the changes do not fit in one transaction. */
export function checkImport(changes: readonly Change[], keys: ClusterKeys): void {
  let bytes = 0
  for (const change of changes)
    for (const name of namesOf(change)) {
      bytes += Buffer.byteLength(keys.record(name))
      if (!('remove' in change)) bytes += ('add' in change ? change.add : change.modify).jsonBytes
    }
  if (changes.length > CLUSTER_IMPORT_CHANGES_MAX || bytes > CLUSTER_IMPORT_BYTES_MAX)
    throw new TooManyChangesError(
      `Cannot import ${changes.length} changes of ${bytes} bytes at once: in a cluster, ${CLUSTER_IMPORT_CHANGES_MAX} and ${CLUSTER_IMPORT_BYTES_MAX} bytes are the limit; make it several, or restore a backup into an empty prefix`,
    )
}
