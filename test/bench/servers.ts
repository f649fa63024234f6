import { execFile } from 'node:child_process'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { InitialCredentials } from '../../src/auth/initial-credentials.ts'
import { dataFiles } from '../../src/files/data-folder.ts'
import { getToken, logIn } from '../support/api.ts'
import { executable } from '../support/executable.ts'
import { copyOf, newPath } from './data-folders.ts'
import { checkAnswer, type FullAnswer } from './full-answer.ts'
import { type ServerProcess, startServer, startServerOnFreePort } from './server-process.ts'
import type { Period } from './shared-clock.ts'

/** The same Node that is in the executable. */
export const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))
const bareSnapshot = fileURLToPath(new URL('bare-snapshot.mjs', import.meta.url))
const bareServer = fileURLToPath(new URL('bare-server.cjs', import.meta.url))

/** A running connbook on a data folder, with what its first start made up. */
export interface Connbook extends ServerProcess {
  readonly folder: string
  readonly credentials: InitialCredentials
}

/** Starts the executable, or what else `program` names with its first arguments, and waits until it is ready. */
export async function startConnbook(
  folder: string,
  {
    environment = {},
    program: [command, ...first] = [executable],
    credentials,
  }: {
    environment?: NodeJS.ProcessEnv
    program?: readonly [string, ...string[]]
    /** Without them, the folder has those of its first start. */
    credentials?: InitialCredentials
  } = {},
): Promise<Connbook> {
  const server = await startServer(command, [...first, ...argsOf(folder, 0)], { environment })
  await server.untilAnswered('/readyz')
  const known = credentials ?? JSON.parse(await readFile(join(folder, dataFiles.initialCredentials), 'utf8'))
  return { ...server, folder, credentials: known }
}

/** Starts the executable on a copy of a prepared folder. */
export async function startConnbookOnCopy(prepared: string, workshop: string): Promise<Connbook> {
  return startConnbook(await copyOf(prepared, workshop))
}

/** Starts the executable and does not wait until it listens. */
export function spawnConnbook(folder: string): Promise<ServerProcess> {
  return startServerOnFreePort(executable, (port) => argsOf(folder, port))
}

function argsOf(folder: string, port: number): string[] {
  return ['--host', '127.0.0.1', '--port', String(port), '--data', folder]
}

/** Gets a token, as an `Authorization` header. */
export function getBearer({ url, credentials }: Connbook): Promise<{ Authorization: string }> {
  const { client_id, client_secret } = credentials
  return getToken(url, { client_id, client_secret })
}

/** Begins a session, as a `Cookie` header. */
export function getCookie({ url, credentials }: Connbook): Promise<{ Cookie: string }> {
  const { username, password } = credentials
  return logIn(url, { username, password })
}

/**
 * Starts a bare `node:http` that gives one answer to every request.
 *
 * @throws {AssertionError} when what it answers differs in one byte.
 */
export async function startBareAnswer(answer: FullAnswer): Promise<ServerProcess> {
  const { status, fields, body } = answer
  const server = await startServer(node, [
    bareServer,
    '0',
    'answer',
    String(status),
    JSON.stringify(fields),
    body,
  ])
  await checkAnswer(server.url, answer)
  return server
}

/**
 * Starts a bare `node:http` that writes what is posted to all its event streams, and gives this answer to other reads.
 *
 * @param program Node, or a copy of it.
 */
export function startBareStreams(
  { status, fields, body }: FullAnswer,
  program = node,
): Promise<ServerProcess> {
  return startServer(program, [bareServer, '0', 'streams', String(status), JSON.stringify(fields), body])
}

/** Copies both programs: how much of a program's file is in memory depends on who has written and read it. */
export async function copyPrograms(
  workshop: string,
): Promise<{ readonly connbook: string; readonly node: string }> {
  const copies = { connbook: await newPath(workshop), node: await newPath(workshop) }
  await copyFile(executable, copies.connbook)
  await copyFile(node, copies.node)
  return copies
}

/**
 * Starts a bare `node:http` that answers with nothing, and does not wait until it listens.
 *
 * @param program Node, or a copy of it.
 */
export function spawnBareAnswer(program = node): Promise<ServerProcess> {
  return startServerOnFreePort(program, (port) => [bareServer, String(port), 'answer', '200', '[]', ''])
}

/** Starts a bare `node:http` that appends what is posted to a file, durably. */
export async function startBareCommit(workshop: string): Promise<ServerProcess> {
  return startServer(node, [bareServer, '0', 'commit', await newPath(workshop)])
}

/** Does to the disk what a snapshot of this size does, in a process of its own; reports from when to when. */
export async function runBareSnapshot(workshop: string, bytes: number): Promise<Period> {
  const path = await newPath(workshop)
  const oldJournal = await newPath(workshop)
  await writeFile(oldJournal, Buffer.alloc(bytes), { flush: true })
  const { stdout } = await promisify(execFile)(node, [bareSnapshot, path, String(bytes), oldJournal])
  return JSON.parse(stdout)
}
