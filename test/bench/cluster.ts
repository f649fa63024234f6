import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { InitialCredentials } from '../../src/auth/initial-credentials.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { executable } from '../support/executable.ts'
import { newPath } from './data-folders.ts'
import { type EtcdMembers, startEtcdMembers } from './etcd.ts'
import type { ServerProcess } from './server-process.ts'
import { type Connbook, startConnbook } from './servers.ts'

const RECORD_PREFIX = '/connbook/r/'

/** An etcd with the records and accounts of a prepared folder. */
export interface Cluster extends EtcdMembers {
  /** Starts a node that uses one member of etcd; in a folder of its own, or another one. */
  startNode(member: ServerProcess, folder?: string): Promise<Connbook>
}

/** Restores a backup of a prepared folder into a new etcd. */
export async function startCluster(prepared: string, workshop: string, members: number): Promise<Cluster> {
  await using starting = new AsyncDisposableStack()
  const etcd = starting.use(await startEtcdMembers(workshop, members))
  const [keyFile, backup] = [await newPath(workshop), await newPath(workshop)]
  await writeFile(keyFile, randomBytes(32).toString('hex'), { mode: 0o600 })
  const text = await readFile(join(prepared, dataFiles.initialCredentials), 'utf8')
  const credentials = JSON.parse(text) as InitialCredentials
  const place = ['--etcd', etcd.leader.url, '--etcd-key-file', keyFile]
  await promisify(execFile)(executable, ['backup', backup, '--data', prepared])
  await promisify(execFile)(executable, ['restore', backup, ...place])
  const running = starting.move()
  return {
    ...etcd,
    async startNode({ url }, folder) {
      const environment = { CONNBOOK_ETCD: url, CONNBOOK_ETCD_KEY_FILE: keyFile }
      return startConnbook(folder ?? (await newPath(workshop)), { environment, credentials })
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** A call of etcd's gateway. @throws {Error} unless the answer is 200. */
export async function callEtcd({ url }: ServerProcess, path: string, body: object): Promise<string> {
  const answer = await fetch(url + path, { method: 'POST', body: JSON.stringify(body) })
  const text = await answer.text()
  if (answer.status !== 200)
    throw new Error(`${path} should be answered 200, but is ${answer.status}: ${text}`)
  return text
}

/** The ranges that a start reads: the records by the two hex digits of their key. */
export function recordRanges(): { readonly key: string; readonly range_end: string }[] {
  const at = (place: number) => toBase64(RECORD_PREFIX + place.toString(16).padStart(2, '0'))
  const ends = Array.from({ length: 256 }, (_, i) => at(i))
  return ends.map((key, i) => ({ key, range_end: ends[i + 1] ?? toBase64(`${RECORD_PREFIX}g`) }))
}

export function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}
