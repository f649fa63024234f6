import { missing } from '../support/debian.ts'
import { newPath } from './data-folders.ts'
import { findFreePort, type ServerProcess, startServerOnFreePort } from './server-process.ts'

/** Why there is no etcd to compare with, or false. */
export const missingEtcd = missing('etcd')

/** Starts an etcd of one member on the loopback and waits until it takes writes. */
export async function startEtcd(workshop: string): Promise<ServerProcess> {
  const folder = await newPath(workshop)
  const argsFor = async (port: number) => {
    const client = `http://127.0.0.1:${port}`
    const peer = `http://127.0.0.1:${await findFreePort()}`
    return [
      ...['--data-dir', folder, '--name', 'bench', '--log-level', 'error', '--logger', 'zap'],
      ...['--listen-client-urls', client, '--advertise-client-urls', client],
      ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
      ...['--initial-cluster', `bench=${peer}`],
    ]
  }
  const server = await startServerOnFreePort('etcd', argsFor, { isForeign: true })
  await server.untilAnswered('/health')
  return server
}
