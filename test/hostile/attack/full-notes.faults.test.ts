import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { connect } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { addAccount } from '../../../src/auth/accounts.ts'
import { accountsDocument } from '../../../src/auth/accounts-file.ts'
import { digestSecret } from '../../../src/auth/secret.ts'
import { HEAP_SHARE, recordMemoryMax } from '../../../src/budget.ts'
import { dataPaths } from '../../../src/files/data-folder.ts'
import { LABELS_MAX, MEMORY_MIB_MIN } from '../../../src/limits.ts'
import { Configuration, type NewConfiguration } from '../../../src/store/configuration.ts'
import { parseGrants } from '../../../src/store/grants.ts'
import { amountOf, recordMemory } from '../../../src/store/record-room.ts'
import { fieldsOf, fillFolder } from '../../bench/data-folders.ts'
import { getToken } from '../../support/api.ts'
import { type RunningServer, startExecutable } from '../../support/executable.ts'
import { createClient } from '../../support/http-client.ts'
import { type MemoryGroup, makeMemoryGroup, noMemoryGroups } from '../../support/memory-group.ts'
import { formatRequest } from '../../support/raw-http.ts'
import { client, start } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { OtherCaller } from './other-caller.ts'

const MEBIBYTE = 1024 * 1024
const YOUNG_BYTES = 24 * MEBIBYTE
const MEMORIES_MIB = [MEMORY_MIB_MIN, 256, 512]
const TIMEOUT_MS = 600_000
/** How long exports are asked for, from so many connections of each account. */
const EXPORTS_MS = 10_000
const CONNECTIONS = 8
const STREAMS = 250
const PEAK_LOOK_MS = 100

const secret = 'a secret of some limited account'
const readers = ['reader-1', 'reader-2']
const limited = ['limited-1', 'limited-2', 'limited-3', 'limited-4']

/** 16 grants of 145 KB, each account others. */
function longGrants(account: string): readonly string[] {
  const labels = (grant: number) =>
    Array.from(
      { length: 4 },
      (_, i) => `label=${encodeURIComponent(`k${i}=${account}${grant}${'日'.repeat(230)}`)}`,
    )
  return parseGrants([
    'read?prefix=record-1',
    ...Array.from({ length: 15 }, (_, i) => `read?${labels(i).join('&')}`),
  ])
}

/** Each with labels whose keys no other record has. */
function labelledOf(id: number): NewConfiguration {
  const labels = Array.from({ length: LABELS_MAX }, (_, i) => [
    `key-${(LABELS_MAX * id + i).toString(36)}`,
    'x',
  ])
  return { ...fieldsOf(id), labels: Object.fromEntries(labels) }
}

/** With keys that are not their names, so that an export has to look for equal ones. */
function capitalOf(id: number): NewConfiguration {
  const fields = fieldsOf(id)
  return id === 1 ? fields : { ...fields, name: `R${fields.name.slice(1)}`, hostname: '192.0.2.1' }
}

interface Attacked extends RunningServer {
  readonly group: MemoryGroup
  readonly records: number
  readonly peak: () => number
}

/** A server with all records that there is memory for. */
async function startFull(
  t: TestContext,
  mebibytes: number,
  makeFields: (id: number) => NewConfiguration,
): Promise<Attacked> {
  const memory = mebibytes * MEBIBYTE
  const one = recordMemory(amountOf(new Configuration(100_000, makeFields(100_000))))
  const records = Math.floor(recordMemoryMax(memory, memory * HEAP_SHARE + YOUNG_BYTES) / one) - 10
  const folder = await temporaryFolder(t)
  await (await start(t, { folder })).stop()
  await fillFolder(folder, records, makeFields)
  const document = accountsDocument(dataPaths(folder))
  let accounts = (await document.read()) ?? assert.fail('no accounts')
  for (const name of readers) accounts = addAccount(accounts, 'client', name, digestSecret(secret), 'read')
  for (const name of limited)
    accounts = addAccount(accounts, 'client', name, digestSecret(secret), 'read', longGrants(name))
  await document.write(accounts)
  const group = makeMemoryGroup(t, mebibytes)
  const server = await startExecutable(t, ['--data', folder], { through: group.through, isTimed: true })
  let most = 0
  const look = setInterval(() => {
    most = Math.max(most, group.usedMebibytes())
  }, PEAK_LOOK_MS)
  t.after(() => clearInterval(look))
  return { ...server, group, records, peak: () => most }
}

async function bearerOf(url: string, client_id: string) {
  return getToken(url, { client_id, client_secret: secret })
}

/** The labels of all records, by one caller. */
async function countLabels({ url }: Attacked) {
  const answer = await fetch(`${url}/v1/labels`, { headers: await bearerOf(url, readers[0] ?? '') })
  const text = await answer.text()
  return { status: answer.status, text }
}

/** Filtered exports of two accounts, each time with another filter. @returns How many had which status. */
async function exportAll({ url }: Attacked, formats: readonly string[]) {
  const tally: Record<string, number> = {}
  const end = performance.now() + EXPORTS_MS
  let filters = 0
  const work = async (headers: { readonly Authorization: string }) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ask = createClient(url, headers, { agent })
    while (performance.now() < end) {
      const format = formats[filters % formats.length]
      filters += 1
      const status = await ask('GET', `/v1/export?format=${format}&skip=1&label=!z${filters}`).then(
        (answer) => answer.status,
        () => 'cut off',
      )
      tally[`${format} ${status}`] = (tally[`${format} ${status}`] ?? 0) + 1
    }
    agent.destroy()
  }
  const tokens = await Promise.all(readers.map((name) => bearerOf(url, name)))
  await Promise.all(tokens.flatMap((headers) => Array.from({ length: CONNECTIONS }, () => work(headers))))
  return tally
}

/** Event streams of accounts with long grants, and then some changes. */
async function streamAndChange(t: TestContext, { url }: Attacked) {
  const { hostname, port } = new URL(url)
  const tally: Record<string, number> = {}
  for (const name of limited) {
    const text = formatRequest('GET /v1/events', await bearerOf(url, name))
    for (let i = 0; i < STREAMS; i += 1) {
      const socket = connect(Number(port), hostname)
      t.after(() => socket.destroy())
      socket.on('error', () => {})
      await Promise.race([once(socket, 'connect'), once(socket, 'close')])
      socket.once('data', (head: Buffer) => {
        const status = head.toString('latin1', 9, 12)
        tally[status] = (tally[status] ?? 0) + 1
      })
      socket.resume()
      socket.write(text)
    }
  }
  const ask = createClient(url, await getToken(url, client))
  for (let i = 0; i < 3; i += 1) {
    const body = { ...fieldsOf(1), username: `changed-${i}` }
    assert.equal((await ask('PUT', '/configurations/record-1', { body })).status, 200)
    await pause(500)
  }
  return tally
}

describe('what is noted for answers, with all records that the memory has room for', {
  skip: noMemoryGroups,
}, () => {
  for (const mebibytes of MEMORIES_MIB) {
    const attacked = (
      what: string,
      makeFields: (id: number) => NewConfiguration,
      attack: (t: TestContext, server: Attacked) => Promise<unknown>,
    ) =>
      it(`does not end a server with ${mebibytes} MiB: ${what}`, { timeout: TIMEOUT_MS }, async (t) => {
        const server = await startFull(t, mebibytes, makeFields)
        const other = await OtherCaller.logIn(server.url, 'record-1')
        t.after(() => other.close())
        let isOver = false
        const working = other.workWhile(() => !isOver)
        const result = await attack(t, server).finally(() => {
          isOver = true
        })
        const { failures, p50, p99, max } = await working
        const figures = [p50, p99, max].map((ms) => ms.toFixed())
        t.diagnostic(
          `${server.records} records, ${JSON.stringify(result)}; peak ${server.peak().toFixed()} MiB`,
        )
        t.diagnostic(`others: p50 ${figures[0]}, p99 ${figures[1]}, worst ${figures[2]} ms`)
        assert.equal(server.process.exitCode ?? server.process.signalCode, null, server.stderr().slice(-1000))
        assert.deepEqual(failures, [])
      })

    attacked('label keys that no other record has', labelledOf, async (_, server) => {
      const { status, text } = await countLabels(server)
      assert.equal(status, 200, text)
      assert.ok(text.endsWith(`"more":${server.records * LABELS_MAX - 100}}`))
      return status
    })
    attacked('filtered exports of two accounts', fieldsOf, (_, server) => exportAll(server, ['ansible-json']))
    attacked('filtered exports whose keys may be equal', capitalOf, (_, server) =>
      exportAll(server, ['env', 'hosts']),
    )
    attacked('event streams of accounts with long grants', fieldsOf, streamAndChange)
    attacked('all of it at once', labelledOf, async (t, server) => {
      const formats = ['ansible-json', 'env', 'ssh-config', 'hosts', 'ansible']
      return Promise.all([
        countLabels(server).then(({ status }) => status),
        exportAll(server, formats),
        streamAndChange(t, server),
      ])
    })
  }
})
