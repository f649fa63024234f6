import { existsSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { missing } from '../../support/debian.ts'
import { freePort } from '../../support/free-port.ts'
import { folderInMemory, type Lifetime, temporaryFolder } from '../../support/temporary-folder.ts'
import { createEtcdClient, type EtcdClient } from './etcd-client.ts'
import type { EtcdCertificates } from './etcd-tls.ts'
import { createMember, type EtcdMember } from './member.ts'

export type { EtcdMember } from './member.ts'

/** Why there is no etcd, for the `skip` of a test, or false. */
export const missingEtcd = missing('etcd')

/** For the calls of a test itself: on a busy machine etcd may take long. */
export const PATIENT = { attemptMs: 30_000 }

/** What a member keeps ready for its log and its database. */
const MEMBER_BYTES = 160 * 1024 * 1024

export interface EtcdCluster {
  readonly members: readonly EtcdMember[]
  /** Those of the members for clients. */
  readonly urls: readonly string[]
  /** Looks into the cluster through its first member, or another one. @param token Of a login. */
  client(member?: EtcdMember, token?: string): EtcdClient
  /** The member that leads at the moment, as the given member knows. */
  leader(asked?: EtcdMember): Promise<EtcdMember>
}

export interface EtcdOptions {
  /** More arguments of each member. */
  readonly args?: readonly string[]
  /** The etcd to run; by default that of the PATH. */
  readonly program?: string
  /** Clients must use TLS then, and show a certificate of the same authority. */
  readonly tls?: EtcdCertificates
}

/**
 * Starts an etcd of some members on the loopback interface, and waits until each takes changes. It ends, and its data are
 * removed, when the test or the suite ends.
 */
export async function startEtcd(t: Lifetime, members = 1, options: EtcdOptions = {}): Promise<EtcdCluster> {
  const made: EtcdMember[] = []
  // Before the folder is removed.
  t.after(async () => void (await Promise.all(made.map((member) => member.kill()))))
  made.push(...(await planMembers(await folderFor(t, members), members, options)))
  await Promise.all(made.map((member) => member.start()))
  return createCluster(made, options)
}

/** In memory, if there is room also for others: on a busy disk, each change would wait for it. */
function folderFor(t: Lifetime, members: number): Promise<string> {
  const { bavail, bsize } = statfsSync(existsSync('/dev/shm') ? '/dev/shm' : tmpdir())
  return bavail * bsize > 4 * members * MEMBER_BYTES ? folderInMemory(t) : temporaryFolder(t)
}

async function planMembers(
  folder: string,
  count: number,
  { args = [], program = 'etcd', tls }: EtcdOptions,
): Promise<EtcdMember[]> {
  const scheme = tls === undefined ? 'http' : 'https'
  const places = await Promise.all(
    Array.from({ length: count }, async (_, i) => ({
      name: `m${i}`,
      url: `${scheme}://127.0.0.1:${await freePort()}`,
      peerUrl: `http://127.0.0.1:${await freePort()}`,
      dataFolder: join(folder, `m${i}`),
    })),
  )
  const initial = places.map(({ name, peerUrl }) => `${name}=${peerUrl}`).join()
  return places.map((place) => {
    const { name, url, peerUrl, dataFolder } = place
    const identity = [
      ...['--name', name, '--data-dir', dataFolder],
      ...['--initial-advertise-peer-urls', peerUrl, '--initial-cluster', initial],
    ]
    const settings = [
      ...['--listen-client-urls', url, '--advertise-client-urls', url, '--listen-peer-urls', peerUrl],
      // One that is alone elects itself at once.
      ...(count === 1 ? ['--heartbeat-interval', '10', '--election-timeout', '100'] : []),
      // Hashes of passwords that are made fast.
      ...['--bcrypt-cost', '4'],
      ...['--logger', 'zap', '--log-level', 'error'],
      ...(tls?.serverArgs ?? []),
      ...args,
    ]
    return createMember({
      ...place,
      identity,
      command: [program, ...identity, ...settings],
      tls: tls?.client,
    })
  })
}

function createCluster(members: readonly EtcdMember[], { tls }: EtcdOptions): EtcdCluster {
  const first = () => {
    const [member] = members
    if (member === undefined) throw new RangeError('a cluster has a member')
    return member
  }
  const client = (member = first(), token?: string) => createEtcdClient(member.url, tls?.client, token)
  return {
    members,
    urls: members.map(({ url }) => url),
    client,
    async leader(asked) {
      const { leader } = await client(asked).status()
      for (const member of members) {
        // One that is dead or frozen does not say who it is.
        const status = await client(member)
          .status()
          .catch(() => undefined)
        if (status?.member === leader) return member
      }
      throw new Error(`no member is the leader ${leader}`)
    },
  }
}
