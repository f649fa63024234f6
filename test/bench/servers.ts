import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { getToken } from '../support/api.ts'
import { executable } from '../support/executable.ts'
import { fillFolder, type MakeChanges, newPath } from './data-folders.ts'
import type { FullAnswer } from './full-answer.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import type { Period } from './shared-clock.ts'

/** The same Node that is in the executable. */
const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))
const bareSnapshot = fileURLToPath(new URL('bare-snapshot.mjs', import.meta.url))
const bareServer = fileURLToPath(new URL('bare-server.mjs', import.meta.url))
const client = { client_id: 'bench', client_secret: 'battery staple' }

/** Starts the executable. */
export function startConnbook(folder: string, environment: NodeJS.ProcessEnv = {}): Promise<ServerProcess> {
  return startServer(executable, ['--host', '127.0.0.1', '--port', '0', '--data', folder], environment)
}

/**
 * Makes a data folder with `count` records, for servers to start on copies of it.
 *
 * @param makeChanges As `fillFolder` has it.
 */
export async function prepareFolder(
  workshop: string,
  count: number,
  makeChanges?: MakeChanges,
): Promise<string> {
  const folder = await newPath(workshop)
  {
    const environment = { CONNBOOK_CLIENT_ID: client.client_id, CONNBOOK_CLIENT_SECRET: client.client_secret }
    await using _firstStart = await startConnbook(folder, environment)
  }
  await fillFolder(folder, count, makeChanges)
  return folder
}

/** Gets a token from a server on a prepared folder, as an `Authorization` header. */
export function getBearer({ url }: ServerProcess): Promise<{ Authorization: string }> {
  return getToken(url, client)
}

/** Starts a bare `node:http` that gives one answer to every request. */
export function startBareAnswer({ fields, body }: FullAnswer): Promise<ServerProcess> {
  return startServer(node, [bareServer, 'answer', JSON.stringify(fields), body])
}

/** Starts a bare `node:http` that appends what is posted to a file, durably. */
export async function startBareCommit(workshop: string): Promise<ServerProcess> {
  return startServer(node, [bareServer, 'commit', await newPath(workshop)])
}

/** Does to the disk what a snapshot of this size does, in a process of its own; tells from when to when. */
export async function runBareSnapshot(workshop: string, bytes: number): Promise<Period> {
  const path = await newPath(workshop)
  const oldJournal = await newPath(workshop)
  await writeFile(oldJournal, Buffer.alloc(bytes), { flush: true })
  const { stdout } = await promisify(execFile)(node, [bareSnapshot, path, String(bytes), oldJournal])
  return JSON.parse(stdout)
}
