import { OverloadedError, StorageFullError, StorageUnavailableError, TooManyChangesError } from '../errors.ts'
import { WAITING_CHANGES_MAX } from '../limits.ts'
import { type Change, namesOf } from '../store/change.ts'
import { BATCH_CHANGES_MAX, Batch, type PendingChange } from './batch.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import type { EtcdError } from './etcd-error.ts'

/** Changes of an import, and bytes of its keys and values, that fit in one transaction. */
const CLUSTER_IMPORT_CHANGES_MAX = 4_000
const CLUSTER_IMPORT_BYTES_MAX = 1024 * 1024

/** The changes of this node that wait to be sent, in their order; an import, or the half of a batch, is a batch already. */
export class WaitingChanges {
  #waiting: (PendingChange | Batch)[] = []

  /** How many times something is to be sent, if each change goes by itself. */
  get length(): number {
    return this.#waiting.length
  }

  /** @throws {OverloadedError} if WAITING_CHANGES_MAX wait. */
  checkRoom(): void {
    if (this.#waiting.length >= WAITING_CHANGES_MAX)
      throw new OverloadedError('Cannot take another change: too many wait for etcd')
  }

  add(one: PendingChange | Batch): void {
    this.#waiting.push(one)
  }

  /** For the halves of a batch that was too large. */
  addFirst(batches: readonly Batch[]): void {
    this.#waiting = [...batches, ...this.#waiting]
  }

  /** Refuses what has waited for too long while others were sent. @param now By the monotonic clock. */
  refuseLate(now: number): void {
    const late = this.#waiting.filter(({ until }) => until <= now)
    if (late.length === 0) return
    this.#waiting = this.#waiting.filter(({ until }) => until > now)
    for (const one of late)
      if (one instanceof Batch) one.refuse(notTaken())
      else one.reject(notTaken())
  }

  /** Refuses imports, which were decided for records that others have replaced. */
  refuseImports(): void {
    for (const one of this.#waiting) if (one instanceof Batch && one.isImport) one.settle(0, [])
    this.#waiting = this.#waiting.filter((one) => !(one instanceof Batch && one.isSettled))
  }

  /** Takes the first, up to BATCH_CHANGES_MAX, none of the same name; or an import, alone. Something must wait. */
  take(): Batch {
    const [first] = this.#waiting
    if (first instanceof Batch) {
      this.#waiting = this.#waiting.slice(1)
      return first
    }
    const names = new Set<string>()
    const changes: PendingChange[] = []
    for (const pending of this.#waiting) {
      if (pending instanceof Batch || changes.length === BATCH_CHANGES_MAX) break
      const touched = namesOf(pending.change)
      if (touched.some((name) => names.has(name))) break
      for (const name of touched) names.add(name)
      changes.push(pending)
    }
    this.#waiting = this.#waiting.slice(changes.length)
    return new Batch(changes)
  }
}

/** For a change that was not made in time. */
export function notTaken(cause?: unknown): StorageUnavailableError {
  return new StorageUnavailableError('Cannot store the change: etcd takes no changes now; try later', {
    cause,
  })
}

/** For a process that ends, because another one is the same node. */
export function copied(): StorageUnavailableError {
  return new StorageUnavailableError(
    'Cannot store the change: another process has a copy of the data folder, and this one ends; ask another node',
  )
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
