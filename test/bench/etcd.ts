import { missing } from '../support/debian.ts'
import { newPath } from './data-folders.ts'
import { findFreePort, type ServerProcess, startServerOnFreePort } from './server-process.ts'

/** Why there is no etcd to compare with, or false. */
export const missingEtcd = missing('etcd')

/** The members of an etcd. They are stopped when it goes out of scope. */
export interface EtcdMembers extends AsyncDisposable {
  readonly leader: ServerProcess
  readonly followers: readonly ServerProcess[]
}

/** Starts an etcd of one member on the loopback and waits until it takes writes. */
export async function startEtcd(workshop: string): Promise<ServerProcess> {
  const { leader } = await startEtcdMembers(workshop, 1)
  return leader
}

/** The same with several members. */
export async function startEtcdMembers(workshop: string, count: number): Promise<EtcdMembers> {
  await using starting = new AsyncDisposableStack()
  const peers = await Promise.all(
    Array.from({ length: count }, async (_, i) => ({
      name: `member${i}`,
      url: `http://127.0.0.1:${await findFreePort()}`,
    })),
  )
  const cluster = peers.map(({ name, url }) => `${name}=${url}`).join()
  const members: ServerProcess[] = []
  for (const { name, url } of peers) {
    const folder = await newPath(workshop)
    const argsFor = (port: number) => [
      ...['--data-dir', folder, '--name', name, '--log-level', 'error', '--logger', 'zap'],
      ...['--listen-client-urls', `http://127.0.0.1:${port}`],
      ...['--advertise-client-urls', `http://127.0.0.1:${port}`],
      ...['--listen-peer-urls', url, '--initial-advertise-peer-urls', url, '--initial-cluster', cluster],
    ]
    members.push(starting.use(await startServerOnFreePort('etcd', argsFor, { isForeign: true })))
  }
  for (const member of members) await member.untilAnswered('/health')
  const leading = await Promise.all(members.map(isLeader))
  const leader = members[leading.indexOf(true)]
  if (leader === undefined) throw new Error('No member of etcd leads')
  const running = starting.move()
  return {
    leader,
    followers: members.filter((member) => member !== leader),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

async function isLeader({ url }: ServerProcess): Promise<boolean> {
  const answer = await fetch(`${url}/v3/maintenance/status`, { method: 'POST', body: '{}' })
  const { header, leader } = (await answer.json()) as {
    readonly header: { readonly member_id: string }
    readonly leader: string
  }
  return header.member_id === leader
}
