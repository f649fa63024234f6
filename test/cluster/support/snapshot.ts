import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { missing } from '../../support/debian.ts'
import { type Lifetime, temporaryFolder } from '../../support/temporary-folder.ts'
import type { EtcdCluster } from './etcd.ts'

const run = promisify(execFile)

/** Why there is no etcdctl, for the `skip` of a test, or false. */
export const missingEtcdctl = missing('etcdctl')

/** A program of the same version as the cluster; by default that of the PATH. */
interface Tool {
  readonly etcdctl?: string
}

/** Saves the present state of a cluster without TLS and login. @returns The file, which goes with the test. */
export async function saveSnapshot(
  t: Lifetime,
  { urls: [url = ''] }: EtcdCluster,
  { etcdctl = 'etcdctl' }: Tool = {},
): Promise<string> {
  const file = join(await temporaryFolder(t), 'snapshot.db')
  await runEtcdctl(etcdctl, ['--endpoints', url, 'snapshot', 'save', file])
  return file
}

/**
 * Ends a cluster and starts it anew from a snapshot, as operators do: same members, same URLs, and so the same id of the
 * cluster.
 */
export async function restoreSnapshot(
  { members }: EtcdCluster,
  file: string,
  { etcdctl = 'etcdctl' }: Tool = {},
): Promise<void> {
  await Promise.all(
    members.map(async (member) => {
      await member.kill()
      await rm(member.dataFolder, { recursive: true })
    }),
  )
  for (const { identity } of members) await runEtcdctl(etcdctl, ['snapshot', 'restore', file, ...identity])
  await Promise.all(members.map((member) => member.start()))
}

async function runEtcdctl(etcdctl: string, args: readonly string[]) {
  await run(etcdctl, args, { env: { ...process.env, ETCDCTL_API: '3' } })
}
