import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { quantile } from '../../bench/statistics.ts'
import { eventually } from '../../support/eventually.ts'
import { runExecutable } from '../../support/executable.ts'
import { createClient } from '../../support/http-client.ts'
import { type AttackedServer, startAttacked } from './attacked-server.ts'

const RECORDS = 100_000
const SEARCHES = 15
/** How much more than an equal share it may be, as the machine has other work, too. */
const ROOM = 1.3
const ROUNDS = 5

/** Makes a client of its own. @returns Its `Authorization` header. */
async function newAccount(server: AttackedServer, name: string): Promise<string> {
  const { stdout } = await runExecutable(['client', 'add', name, '--data', server.folder])
  const secret = /^client_secret: (.*)$/m.exec(stdout)?.[1]
  assert.ok(secret, stdout)
  const ask = createClient(server.url)
  const credentials = { client_id: name, client_secret: secret }
  let token: string | undefined
  await eventually('the server knows the account', async () => {
    const answer = await ask('POST', '/v1/auth/token', { body: credentials })
    token = answer.json<{ access_token?: string }>().access_token
    return token !== undefined
  })
  return `Bearer ${token}`
}

/** Median time of a search that looks at all records, in milliseconds. */
async function timeSearches(server: AttackedServer, authorization: string): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < SEARCHES; i += 1) {
    const begin = performance.now()
    const answer = await fetch(`${server.url}/configurations/?q=no+such+text`, {
      headers: { Authorization: authorization },
    })
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
    times.push(performance.now() - begin)
  }
  return quantile(times, 0.5)
}

/** Downloads exports until the test stops them. */
function exportsOf(server: AttackedServer, authorization: string) {
  const stop = new AbortController()
  let pieces = 0
  const loop = async () => {
    while (!stop.signal.aborted) {
      const answer = await fetch(`${server.url}/v1/export?format=csv`, {
        headers: { Authorization: authorization },
        signal: stop.signal,
      })
      assert.equal(answer.status, 200)
      for await (const _ of answer.body ?? []) pieces += 1
    }
  }
  const over = loop().catch((error: Error) => assert.equal(error.name, 'AbortError'))
  return {
    pieces: () => pieces,
    async stop() {
      stop.abort()
      await over
    },
  }
}

interface Load {
  readonly accounts?: number
  readonly exportsOfEach?: number
  readonly isSameAccount?: boolean
}

/** Compares the best round of each: other work on the machine only adds to a time. */
async function compare(t: TestContext, { accounts = 1, exportsOfEach = 1, isSameAccount = false }: Load) {
  const server = await startAttacked(t, { records: RECORDS })
  const searcher = await newAccount(server, 'searcher')
  const others = isSameAccount ? [searcher] : []
  for (let i = others.length; i < accounts; i += 1) others.push(await newAccount(server, `exporter-${i}`))
  // Accounts have equal shares, and so have the requests of one account.
  const sharers = isSameAccount ? exportsOfEach : others.length
  const most = ROOM * (sharers + 1)
  const [alone, beside]: [number[], number[]] = [[], []]
  const ratio = () => Math.min(...beside) / Math.min(...alone)
  while (beside.length === 0 || (beside.length < ROUNDS && ratio() > most)) {
    await timeSearches(server, searcher)
    alone.push(await timeSearches(server, searcher))
    beside.push(await timeBeside(server, searcher, others, exportsOfEach))
    t.diagnostic(`alone ${alone.at(-1)?.toFixed(1)} ms, beside ${beside.at(-1)?.toFixed(1)} ms`)
  }
  assert.ok(ratio() <= most, `${ratio().toFixed(1)} times as long, and the limit is ${most}`)
}

async function timeBeside(
  server: AttackedServer,
  searcher: string,
  others: readonly string[],
  exportsOfEach: number,
): Promise<number> {
  const running = others.flatMap((other) =>
    Array.from({ length: exportsOfEach }, () => exportsOf(server, other)),
  )
  await timeSearches(server, searcher)
  const beside = await timeSearches(server, searcher)
  const pieces = running.map(({ pieces }) => pieces())
  for (const { stop } of running) await stop()
  assert.ok(
    pieces.every((count) => count > 0),
    `${pieces} pieces`,
  )
  return beside
}

describe('a search takes no more than its share beside', () => {
  const cases = {
    'an export of another account': {},
    'four exports of another account': { exportsOfEach: 4 },
    'sixteen exports of another account': { exportsOfEach: 16 },
    'exports of four accounts': { accounts: 4 },
    'four exports of the same account': { exportsOfEach: 4, isSameAccount: true },
  }
  for (const [what, load] of Object.entries(cases))
    it(what, async (t) => {
      await compare(t, load)
    })
})
