import { accessCluster, type ClusterOptions } from '../cluster/cluster-access.ts'
import { restoreCluster, takeClusterBackup } from '../cluster/cluster-backup.ts'
import { type ClusterFailure, clusterFailureOf } from '../cluster/cluster-error.ts'
import { examineCluster } from '../cluster/cluster-examination.ts'
import { upgradeCluster } from '../cluster/cluster-upgrade.ts'
import type { Backup } from '../state/backup-document.ts'
import type { Finding } from '../storage/finding.ts'
import type { ConfigurationIndex } from '../store/configuration-index.ts'

/**
 * A cluster that a command works on, beside its nodes; the only way of the commands to one. Each call throws {EtcdError}
 * {ClusterRefusedError} if it cannot be used, or has nothing of connbook.
 */
export interface UsedCluster extends Disposable {
  /** For messages. */
  readonly place: string
  /** Also throws {BackupFailedError}. */
  takeBackup(): Promise<Backup>
  /** Fills an empty prefix; may be repeated. */
  restore(backup: Backup): Promise<void>
  /** Raises the form of what it holds to the newest; see `upgradeCluster`. */
  upgrade(): Promise<boolean>
  examine(): Promise<{ readonly findings: readonly Finding[]; readonly index: ConfigurationIndex }>
}

/**
 * Undefined if the options name no cluster.
 *
 * @throws {UsageError} {KeyExposedError} if the options do not fit each other, or a file that they name cannot be used.
 */
export function usedCluster(options: ClusterOptions): UsedCluster | undefined {
  const access = accessCluster(options)
  if (access === undefined) return undefined
  const { gateway, place } = access
  return {
    place,
    takeBackup: () => takeClusterBackup(access),
    restore: (backup) => restoreCluster(access, backup),
    upgrade: () => upgradeCluster(access),
    async examine() {
      const { findings, state } = await examineCluster(access)
      return { findings, index: state.index }
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
