import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { runCommand } from '../../support/command.ts'
import type { Finished } from '../../support/executable.ts'
import { type Ask, createClient } from '../../support/http-client.ts'
import { start, type TestService } from '../../support/service.ts'
import { type Lifetime, temporaryFolder } from '../../support/temporary-folder.ts'

type Parts = Parameters<typeof runCommand>[1]

/** Whoever runs the client's commands: with logins of their own. */
export interface ClientHome {
  readonly environment: NodeJS.ProcessEnv
  /** Path of the file that keeps logins. */
  readonly sessions: string
  /** Runs a command line there, in this process; its variables come on top. */
  run(args: readonly string[], parts?: Parts): Promise<Finished>
  /** The same with standard output on a terminal. */
  see(args: readonly string[], parts?: Parts): Promise<Finished>
}

/** @param more Variables of every command. */
export async function openHome(t: Lifetime, more: NodeJS.ProcessEnv = {}): Promise<ClientHome> {
  const state = await temporaryFolder(t)
  const environment = { XDG_STATE_HOME: state, ...more }
  const run = (args: readonly string[], parts: Parts = {}) =>
    runCommand(args, { ...parts, environment: { ...environment, ...parts.environment } })
  return {
    environment,
    sessions: join(state, 'connbook', 'sessions.json'),
    run,
    see: (args, parts) => run(args, { ...parts, isTerminal: true }),
  }
}

/** A connbook, and a home whose commands call it with a token. */
export interface CalledServer extends ClientHome {
  readonly service: TestService
  readonly ask: Ask
}

/** @param records Bodies of records to add. */
export async function openServer(t: Lifetime, records: readonly object[] = []): Promise<CalledServer> {
  const service = await start(t)
  const authorization = await service.bearer()
  const ask = createClient(service.url, { Authorization: authorization })
  for (const body of records) await ask('POST', '/configurations/', { body })
  const token = authorization.replace('Bearer ', '')
  const home = await openHome(t, { CONNBOOK_SERVER: service.url, CONNBOOK_TOKEN: token })
  return { ...home, service, ask }
}

/** The name of a record of `openServerOfHosts`, by its place in the list. */
export const hostName = (place: number) => `host-${String(place).padStart(6, '0')}`

/** The same with so many records. */
export async function openServerOfHosts(t: Lifetime, records: number): Promise<CalledServer> {
  const server = await openServer(t)
  const rows = Array.from({ length: records }, (_, i) => `${hostName(i)},${hostName(i)}.example,22,deploy\n`)
  const body = `name,hostname,port,username\n${rows.join('')}`
  assert.equal((await server.ask('POST', '/v1/import?format=csv', { body })).status, 200)
  return server
}

/** Standard input that is a terminal on which this is typed at each question. @param before Runs first. */
export function typing(answer: string, before: () => Promise<void> = async () => {}) {
  async function* typed() {
    await before()
    yield Buffer.from(answer)
  }
  return { openInput: () => Object.assign(Readable.from(typed()), { isTTY: true }) }
}

/** What the examples have in their books. */
export const web1 = { name: 'web1', hostname: '192.0.2.10', port: 22, username: 'deploy' }
export const db1 = {
  ...{ name: 'db1', hostname: 'db1.example', port: 5432, username: 'app' },
  labels: { env: 'prod', group: 'db' },
}
