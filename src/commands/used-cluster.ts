import type { CredentialStorage } from '../auth/credential-storage.ts'
import { accessCluster, type ClusterOptions } from '../cluster/cluster-access.ts'
import { readUsedCluster, restoreCluster, takeClusterBackup } from '../cluster/cluster-backup.ts'
import { clusterCredentials, clusterDocuments } from '../cluster/cluster-documents.ts'
import { type ClusterFailure, clusterFailureOf } from '../cluster/cluster-error.ts'
import { examineCluster } from '../cluster/cluster-examination.ts'
import { storeIdOf } from '../cluster/cluster-meta.ts'
import { checkCluster } from '../cluster/cluster-reading.ts'
import { upgradeCluster } from '../cluster/cluster-upgrade.ts'
import type { DataPaths } from '../files/data-folder.ts'
import type { Backup } from '../state/backup-document.ts'
import type { StoredRecords } from '../storage/file/file-storage.ts'
import type { Finding } from '../storage/finding.ts'
import type { ConfigurationIndex } from '../store/configuration-index.ts'

/**
 * A cluster that a command works on, beside its nodes; the only way of the commands to one. Each call throws {EtcdError}
 * {ClusterRefusedError} if it cannot be used, or has nothing of connbook.
 */
export interface UsedCluster extends Disposable {
  /** For messages. */
  readonly place: string
  /** The records of one moment. */
  readRecords(): Promise<StoredRecords>
  /** Also throws {BackupFailedError}. */
  takeBackup(): Promise<Backup>
  /** Fills an empty prefix; may be repeated. */
  restore(backup: Backup): Promise<void>
  /** Raises the form of what it holds to the newest; see `upgradeCluster`. */
  upgrade(): Promise<boolean>
  examine(): Promise<{ readonly findings: readonly Finding[]; readonly index: ConfigurationIndex }>
  /** @param folder Where to keep the audit trail of changes; undefined for a command that only reads. */
  openCredentials(folder: DataPaths | undefined): Promise<CredentialStorage>
}

/**
 * Undefined if the options name no cluster.
 *
 * @throws {UsageError} {KeyExposedError} if the options do not fit each other, or a file that they name cannot be used.
 */
export function usedCluster(options: ClusterOptions): UsedCluster | undefined {
  const access = accessCluster(options)
  if (access === undefined) return undefined
  const { gateway, keys, place } = access
  return {
    place,
    async readRecords() {
      const { meta, index } = await readUsedCluster(access)
      return { store: storeIdOf(meta.value), index }
    },
    takeBackup: () => takeClusterBackup(access),
    restore: (backup) => restoreCluster(access, backup),
    upgrade: () => upgradeCluster(access),
    async examine() {
      const { findings, state } = await examineCluster(access)
      return { findings, index: state.index }
    },
    async openCredentials(folder) {
      await checkCluster(gateway, keys)
      return clusterCredentials(access, clusterDocuments(access), folder)
    },
    [Symbol.dispose]: () => gateway.close(),
  }
}

/** Help for exit codes 5 and 6 of commands that work on a folder, or on a cluster. */
export const clusterExitCodes = {
  5: 'with --etcd: not let in',
  6: 'with --etcd: not reached, without an answer, or not to be trusted',
} as const

/** The exit code for a cluster that could not be used; undefined for other errors. */
export function exitCodeOfCluster(error: unknown): 5 | 6 | 65 | undefined {
  const failure = clusterFailureOf(error)
  return failure && exitCodes[failure]
}

const exitCodes = { not_let_in: 5, not_reached: 6, damaged: 65 } as const satisfies Record<
  ClusterFailure,
  number
>
