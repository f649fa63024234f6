import { createKey } from '../auth/keys.ts'
import { checkAccounts } from '../state/backup.ts'
import type { Backup } from '../state/backup-document.ts'
import type { Configuration } from '../store/configuration.ts'
import type { ClusterAccess } from './cluster-access.ts'
import { clusterDocuments } from './cluster-documents.ts'
import { ClusterRefusedError, nothingThere } from './cluster-error.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import { type ClusterMeta, createMeta, encodeMeta, parseMeta, storeIdOf } from './cluster-meta.ts'
import { CLUSTER_SMALL_RECORDS, type ClusterState, countLeftovers, readCluster } from './cluster-reading.ts'
import {
  type EtcdOperation,
  isAbsent,
  modIs,
  put,
  remove,
  type Transaction,
  type TransactionAnswer,
} from './messages.ts'
import { type Settled, transactUntilSettled } from './settled-transaction.ts'

/** Records, and bytes of their requests, in one transaction of a restore. */
const ETCD_PUTS_MAX = 120
const ETCD_PUTS_BYTES_MAX = 512 * 1024
const RESTORE_TRANSACTIONS_AT_ONCE = 4

const WHAT = 'the records of the prefix'

/** Reads all that a cluster holds at one revision. @throws {EtcdError} {ClusterRefusedError} also if there is nothing. */
export async function readUsedCluster({ gateway, keys }: ClusterAccess): Promise<ClusterState> {
  const state = await readCluster(gateway, keys)
  if (state === undefined) throw nothingThere(keys, gateway)
  return state
}

/** Takes a backup of one revision, whether or not nodes run. @throws as `readUsedCluster` does; also {BackupFailedError}. */
export async function takeClusterBackup(access: ClusterAccess): Promise<Backup> {
  const { meta, index, accounts: kept } = await readUsedCluster(access)
  const accounts = clusterDocuments(access).accounts.decode(kept)
  checkAccounts(accounts, access.place, 'take a snapshot of etcd')
  const { revision, lastId, count } = index
  return {
    store: storeIdOf(meta.value),
    ...{ revision, lastId, count },
    createdAt: new Date().toISOString(),
    accounts,
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
  const leftovers = await countLeftovers(gateway, keys)
  const restore = new ClusterRestore(access)
  await restore.claim(backup.lastId)
  await restore.removeLeftovers(leftovers)
  // A removal that was sent twice may come later, and must find another claim then.
  await restore.claim(backup.lastId)
  // What another restore has put there before that.
  if ((await countLeftovers(gateway, keys)) > 1) throw disturbed(access)
  await restore.makeAll(portionsOf(backup.records, keys))
  await restore.complete(backup.accounts)
}

/** The transactions of one restore. They fail once another one has begun, or a store is there. */
class ClusterRestore {
  readonly #access: ClusterAccess
  #compare: Transaction['compare'] = []

  constructor(access: ClusterAccess) {
    this.#access = access
  }

  /** The revision of the sequence names this restore from now on. It may be repeated. */
  async claim(lastId: number): Promise<void> {
    const { keys } = this.#access
    this.#compare = [isAbsent(keys.meta)]
    const { answer } = await this.#make([put(keys.sequence, String(lastId))])
    if (!answer.succeeded) throw disturbed(this.#access)
    this.#compare = [modIs(keys.sequence, answer.revision), isAbsent(keys.meta)]
  }

  /** Removes what an earlier restore left, in ranges: etcd does nothing else while it removes one. */
  async removeLeftovers(count: number): Promise<void> {
    const { keys } = this.#access
    const ranges = count > CLUSTER_SMALL_RECORDS ? keys.recordRanges : [keys.records]
    const removals = [...ranges, keys.nodes, keys.revoked].map(({ key, end }) => [remove(key, end)])
    await this.makeAll(removals.values())
  }

  async makeAll(transactions: IteratorObject<readonly EtcdOperation[]>): Promise<void> {
    await Promise.all(
      Array.from({ length: RESTORE_TRANSACTIONS_AT_ONCE }, async () => {
        for (const success of transactions)
          if (!(await this.#make(success)).answer.succeeded) throw disturbed(this.#access)
      }),
    )
  }

  /** Makes the store known: from now on nodes start on it. */
  async complete({ isPrepared: _, ...accounts }: Backup['accounts']): Promise<void> {
    const { keys } = this.#access
    const documents = clusterDocuments(this.#access)
    const meta = createMeta()
    const { answer, isRepeated } = await this.#make([
      // Without `isPrepared`: no node adds the first accounts to a store that is there.
      put(keys.accounts, documents.accounts.encode(accounts)),
      put(keys.signingKeys, documents.keys.encode([createKey(Date.now() / 1000, 0)])),
      put(keys.meta, encodeMeta(meta)),
    ])
    // If only the answer was lost, its repetition fails.
    if (!answer.succeeded && !(isRepeated && (await this.#isStore(meta)))) throw disturbed(this.#access)
  }

  #make(success: readonly EtcdOperation[]): Promise<Settled<TransactionAnswer>> {
    const transaction = { compare: this.#compare, success, failure: [] }
    return transactUntilSettled(this.#access.gateway, transaction, WHAT)
  }

  async #isStore({ store }: ClusterMeta): Promise<boolean> {
    const { gateway, keys } = this.#access
    const [kv] = (await gateway.range({ key: keys.meta })).kvs
    return kv !== undefined && parseMeta(kv.value).store === store
  }
}

function disturbed({ place }: ClusterAccess): ClusterRefusedError {
  return new ClusterRefusedError(
    `Cannot restore to ${place}: another restore, or a node, has begun there; let it end, or name another prefix with --etcd-prefix`,
  )
}

function* portionsOf(
  records: Iterable<Configuration>,
  keys: ClusterKeys,
): Generator<readonly EtcdOperation[]> {
  let puts: EtcdOperation[] = []
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
