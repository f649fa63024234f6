import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import type { Accounts } from '../../../src/auth/accounts.ts'
import { accountsDocument } from '../../../src/auth/accounts-file.ts'
import { dataPaths } from '../../../src/files/data-folder.ts'
import type { Change } from '../../../src/store/change.ts'
import { fillFolder, writeJournal } from '../../bench/data-folders.ts'
import { getToken, logIn } from '../../support/api.ts'
import { eventually } from '../../support/eventually.ts'
import { type RunningServer, startExecutable } from '../../support/executable.ts'
import { createClient } from '../../support/http-client.ts'
import { admin, client, start } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { startAttack } from './attacker-process.ts'
import type { AttackName, Question, Tally, Target } from './attacks.ts'
import { type Experience, WellBehavedClient } from './well-behaved-client.ts'

/** Noise from other programs only adds time, so the best of this many rounds counts. */
const ROUNDS_MAX = 3

/**
 * What another client may wait, in milliseconds, without the delay of its own event loop. It has room for other work on
 * the machine, but not for much: measure on a quiet one.
 */
export const P99_MS_MAX = 150
/** The longest that any of them may wait: one stop that is noticed, with room for a busy machine. */
export const MAX_MS_MAX = 450
/** From how many requests the p99 is taken. */
export const REQUESTS = 400

/** The executable with records, an attacker and well-behaved clients. */
export interface AttackedServer extends RunningServer {
  readonly folder: string
  /** The `Authorization` header of a valid account. */
  readonly bearer: string
  /** Memory in use, in MiB. */
  memory(): number
  /** @param questions For the attack `questions`. @param bearer Of another account. */
  attack(
    name: AttackName,
    connections: number,
    questions?: readonly Question[],
    bearer?: string,
  ): Promise<{ tally(): Promise<Tally>; stop(): Promise<Tally> }>
  /** A client whose connections are closed when the test ends. */
  client(prefix: string): WellBehavedClient
}

/**
 * @param records How many, named `record-1` and so on.
 * @param makeFields What they have, by their id.
 * @param changes Changes already in the journal.
 * @param addAccounts Adds to the accounts, before the server starts.
 * @param through As in `startExecutable`.
 */
export async function startAttacked(
  t: TestContext,
  {
    records,
    makeFields,
    changes = [],
    addAccounts = (accounts) => accounts,
    through = [],
  }: {
    records: number
    makeFields?: Parameters<typeof fillFolder>[2]
    changes?: readonly Change[]
    addAccounts?: (accounts: Accounts) => Accounts
    through?: string[]
  },
): Promise<AttackedServer> {
  const folder = await temporaryFolder(t)
  await (await start(t, { folder })).stop()
  await fillFolder(folder, records, makeFields)
  await writeJournal(folder, records, changes)
  const document = accountsDocument(dataPaths(folder))
  await document.write(addAccounts((await document.read()) ?? assert.fail('no accounts')))
  const server = await startExecutable(t, ['--data', folder], { through, isTimed: true })
  const { Authorization: bearer } = await getToken(server.url, client)
  const { hostname: host, port } = new URL(server.url)
  return {
    ...server,
    folder,
    bearer,
    memory() {
      const status = readFileSync(`/proc/${server.process.pid}/status`, 'utf8')
      return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024
    },
    attack(name, connections, questions = [], attacking = bearer) {
      const target = { host, port: Number(port), bearer: attacking, connections, records, questions }
      return startAttack(t, name, target satisfies Target)
    },
    client(prefix) {
      const wellBehaved = new WellBehavedClient(server.url, bearer, prefix)
      t.after(() => wellBehaved.close())
      return wellBehaved
    },
  }
}

/** Adds a client, as `admin`. @returns Its `Authorization` header. */
export async function addClient(
  { url }: Pick<AttackedServer, 'url'>,
  account: { readonly name?: string; readonly scope: string; readonly grants?: readonly string[] },
): Promise<string> {
  const ask = createClient(url, await logIn(url, admin))
  const name = account.name ?? 'attacker'
  const added = await ask('POST', '/v1/clients/', { body: { ...account, name } })
  const secret = added.json<{ accounts: { secret: string }[] }>().accounts[0]?.secret
  let token: string | undefined
  await eventually('the server knows the client', async () => {
    const body = { client_id: name, client_secret: secret }
    token = (await ask('POST', '/v1/auth/token', { body })).json<{ access_token?: string }>().access_token
    return token !== undefined
  })
  return `Bearer ${token}`
}

/**
 * Lets the client work until a round is fast enough, for at most ROUNDS_MAX rounds.
 *
 * @returns The fastest round, with the failures of all rounds: noise makes no request fail.
 */
export async function measure(
  t: TestContext,
  client: { work(requests: number): Promise<Experience> },
  requests: number,
  servedP99Max: number,
): Promise<Experience> {
  const rounds: Experience[] = []
  while (rounds.length < ROUNDS_MAX && !rounds.some(({ servedP99 }) => servedP99 < servedP99Max)) {
    const round = await client.work(requests)
    rounds.push(round)
    const { p50, p99, max, ownDelayP99 } = round
    t.diagnostic(
      `${requests} requests: p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, max ${max.toFixed(1)} ms; ` +
        `own event loop p99 ${ownDelayP99.toFixed(1)} ms`,
    )
  }
  const [best] = rounds.toSorted((a, b) => a.servedP99 - b.servedP99)
  if (best === undefined) throw new RangeError('There is at least one round')
  return { ...best, failures: rounds.flatMap(({ failures }) => failures) }
}
