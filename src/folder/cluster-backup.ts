import { createKey } from '../auth/keys.ts'
import { ETCD_PUTS_BYTES_MAX, ETCD_PUTS_MAX, RESTORE_TRANSACTIONS_AT_ONCE } from '../limits.ts'
import { ClusterRefusedError, nothingThere } from '../storage/etcd/cluster-error.ts'
import { createMeta, encodeMeta, storeIdOf } from '../storage/etcd/cluster-meta.ts'
import { type ClusterState, checkUnused, readCluster } from '../storage/etcd/cluster-reading.ts'
import type { Operation } from '../storage/etcd/messages.ts'
import { isAbsent, modIs, put, remove } from '../storage/etcd/requests.ts'
import { transactUntilSettled } from '../storage/etcd/settled-transaction.ts'
import type { Configuration } from '../store/configuration.ts'
import type { Backup } from './backup-document.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { clusterDocuments } from './cluster-documents.ts'

const WHAT = 'the records of the prefix'

/** Reads all that a cluster holds at one revision. @throws {EtcdError} {ClusterRefusedError} also if there is nothing. */
export async function readUsedCluster({ gateway, keys }: ClusterAccess): Promise<ClusterState> {
  const state = await readCluster(gateway, keys)
  if (state === undefined) throw nothingThere(keys, gateway)
  return state
}

/** Takes a backup of one revision, whether or not nodes run. @throws as `readUsedCluster` does. */
export async function takeClusterBackup(access: ClusterAccess): Promise<Backup> {
  const { meta, index, accounts } = await readUsedCluster(access)
  const { revision, lastId, count, hasLabels } = index
  return {
    store: storeIdOf(meta.value),
    ...{ revision, lastId, count, hasLabels },
    createdAt: new Date().toISOString(),
    accounts: clusterDocuments(access).accounts.decode(accounts),
    records: index.freeze(),
  }
}

/**
 * Fills an empty prefix from a backup, with a new store id and a new signing key. `meta` comes last: until then no node
 * starts, and what a restore that was broken off has left is removed by the next one.
 *
 * @throws {ClusterRefusedError} if the prefix is in use, or another restore has begun meanwhile.
 * @throws {EtcdError} {StorageFullError} {StorageUnavailableError} {OutcomeUnknownError} It may be repeated.
 */
export async function restoreCluster(access: ClusterAccess, backup: Backup): Promise<void> {
  const { gateway, keys } = access
  await checkUnused(gateway, keys)
  const token = await begin(backup.lastId)
  /** Fails once another restore has begun, or has been completed. */
  const compare = [modIs(keys.sequence, token), isAbsent(keys.meta)]
  const portions = portionsOf(backup.records)
  await Promise.all(
    Array.from({ length: RESTORE_TRANSACTIONS_AT_ONCE }, async () => {
      for (const success of portions) await make(success)
    }),
  )
  const documents = clusterDocuments(access)
  await make([
    put(keys.accounts, documents.accounts.encode(backup.accounts)),
    put(keys.signingKeys, documents.keys.encode([createKey(Date.now() / 1000, 0)])),
    put(keys.meta, encodeMeta(createMeta())),
  ])

  /** Removes what is left of an earlier one. @returns The revision that names this restore. */
  async function begin(lastId: number): Promise<number> {
    const { answer } = await transactUntilSettled(
      gateway,
      {
        compare: [isAbsent(keys.meta)],
        success: [
          ...[keys.records, keys.nodes, keys.revoked].map(({ key, end }) => remove(key, end)),
          remove(keys.accounts),
          remove(keys.signingKeys),
          put(keys.sequence, String(lastId)),
        ],
        failure: [],
      },
      WHAT,
    )
    if (!answer.succeeded) throw disturbed()
    return answer.revision
  }

  async function make(success: readonly Operation[]) {
    const { answer, isRepeated } = await transactUntilSettled(
      gateway,
      { compare, success, failure: [] },
      WHAT,
    )
    // The last one, whose answer was lost, makes its own repetition fail.
    const isMade = answer.succeeded || (isRepeated && (await isComplete()))
    if (!isMade) throw disturbed()
  }

  async function isComplete(): Promise<boolean> {
    const [sequence] = (await gateway.range({ key: keys.sequence })).kvs
    return sequence?.modRevision === token
  }

  function disturbed(): ClusterRefusedError {
    return new ClusterRefusedError(
      `Cannot restore to ${access.place}: another restore, or a node, has begun there; let it end, or name another prefix with --etcd-prefix`,
    )
  }

  function* portionsOf(records: Iterable<Configuration>): Generator<readonly Operation[]> {
    let puts: Operation[] = []
    let bytes = 0
    for (const record of records) {
      const operation = put(keys.record(record.name), JSON.stringify(record))
      if (puts.length === ETCD_PUTS_MAX || bytes + operation.length > ETCD_PUTS_BYTES_MAX) {
        yield puts
        puts = []
        bytes = 0
      }
      puts.push(operation)
      bytes += operation.length
    }
    if (puts.length > 0) yield puts
  }
}
