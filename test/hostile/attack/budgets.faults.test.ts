import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile, stat } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { addAccount } from '../../../src/auth/accounts.ts'
import { SUCCESSES_LISTED } from '../../../src/auth/attempt-log.ts'
import { ACCOUNT_REVOCATIONS_MAX } from '../../../src/auth/ended-credentials.ts'
import { REVOCATIONS_BYTES_MIN } from '../../../src/auth/folder-revocations.ts'
import { digestSecret } from '../../../src/auth/secret.ts'
import { dataFiles, dataPaths } from '../../../src/files/data-folder.ts'
import { scopeFor } from '../../../src/http/scope.ts'
import { AUDITED_QUERY_CHARACTERS_MAX } from '../../../src/limits.ts'
import { UNCHANGED_LISTED } from '../../../src/resources/unchanged-calls.ts'
import { quantile } from '../../bench/statistics.ts'
import { createClient } from '../../support/http-client.ts'
import { admin } from '../../support/service.ts'
import { type AttackedServer, measure, P99_MS_MAX, REQUESTS, startAttacked } from './attacked-server.ts'
import { powerless, powerlessGrants, reader } from './budget-attacks.ts'

const HEALTH_CHECKS = 1_500
const TRIES = 22
const IMPORTS = 8
/** Logouts of one account: enough for the general end of its credentials. */
const LOGOUTS = ACCOUNT_REVOCATIONS_MAX + 100
/** Rounds of the attack. With two lines of 11 KiB in each they would push out all others. */
const CHANGES_OF_NOTHING = 4_000
/** The address of a caller who is not the attacker. */
const OTHER_ADDRESS = '127.0.0.2'

/** Reads and adds records, and checks the health on new connections; nothing fails or takes long. */
async function expectUnnoticed(t: TestContext, server: AttackedServer, when: string): Promise<void> {
  const { servedP99, failures } = await measure(t, server.client(when), REQUESTS, P99_MS_MAX)
  assert.deepEqual(failures, [])
  assert.ok(servedP99 < P99_MS_MAX, `p99 is ${servedP99} ms`)
  const ask = createClient(server.url)
  const times: number[] = []
  for (let i = 0; i < HEALTH_CHECKS; i += 1) {
    const begin = performance.now()
    assert.equal((await ask('GET', '/healthz')).status, 200)
    times.push(performance.now() - begin)
  }
  const p99 = quantile(times, 0.99)
  t.diagnostic(`p99 of /healthz: ${p99.toFixed(1)} ms`)
  assert.ok(p99 < P99_MS_MAX, `p99 of /healthz is ${p99} ms`)
}

const countOf = (statuses: readonly number[], status: number) =>
  statuses.filter((each) => each === status).length

describe('cheap operations of one caller do not take from others', () => {
  it('logins under invented names leave room for a login from another address', async (t) => {
    const server = await startAttacked(t, { records: 1_000 })
    const ask = createClient(server.url, {}, { localAddress: OTHER_ADDRESS })
    const running = await server.attack('strangers', 64)
    await expectUnnoticed(t, server, 'meanwhile')
    const statuses: number[] = []
    for (let i = 0; i < TRIES; i += 1) statuses.push((await ask('POST', '/login', { body: admin })).status)
    const tally = await running.stop()
    t.diagnostic(`${countOf(statuses, 200)} of ${TRIES} logins; the attack: ${JSON.stringify(tally)}`)
    assert.equal(countOf(statuses, 200), TRIES, statuses.join(' '))
    assert.ok((tally[401] ?? 0) > 0, JSON.stringify(tally))
    await expectUnnoticed(t, server, 'afterwards')
  })

  it('tokens and logouts of a read-only client fill neither the audit trail nor the list of ended credentials', async (t) => {
    const secret = digestSecret(reader.client_secret)
    const server = await startAttacked(t, {
      records: 1_000,
      addAccounts: (accounts) => addAccount(accounts, 'client', reader.client_id, secret, 'read'),
    })
    const folder = dataPaths(server.folder)
    const ask = createClient(server.url, {}, { localAddress: OTHER_ADDRESS })

    const running = await server.attack('tokenLoop', 16)
    await expectUnnoticed(t, server, 'meanwhile')
    const attempted = async () => {
      const tally = await running.tally()
      return (tally['logout 200'] ?? 0) + (tally['logout 503'] ?? 0)
    }
    while ((await attempted()) < LOGOUTS) await pause(100)
    const login = await ask('POST', '/login', { body: admin })
    const cookie = (login.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? ''
    const logout = await ask('POST', '/logout', { headers: { Cookie: cookie } })
    const after = await ask('GET', '/configurations/record-1', { headers: { Cookie: cookie } })
    const tally = await running.stop()
    const trail = (await readFile(folder.file('audit.jsonl'), 'utf8')).trim().split('\n')
    const ofReader = trail.filter((line) => line.includes('"reader"'))
    const { size } = await stat(folder.file(dataFiles.revocations))
    t.diagnostic(
      `${ofReader.length} lines of the reader, ${size} bytes of ended credentials; the attack: ${JSON.stringify(tally)}`,
    )

    assert.deepEqual([login.status, logout.status, after.status], [200, 200, 403])
    const ends = ofReader.filter((line) => line.includes('credentials_ended')).length
    assert.ok(ofReader.length - ends <= SUCCESSES_LISTED.accountMax, `${ofReader.length} lines`)
    assert.ok(trail.some((line) => line.includes('"configuration_added"')))
    assert.ok(size < 3 * REVOCATIONS_BYTES_MIN, `${size} bytes`)
    assert.ok(ends > 0)
    assert.ok(server.stderr().includes('"credentials_ended"'))
    await expectUnnoticed(t, server, 'afterwards')
  })

  it('changes of nothing, by a client that may change nothing, leave the history of others', async (t) => {
    const { client_id, client_secret } = powerless
    const secret = digestSecret(client_secret)
    const server = await startAttacked(t, {
      records: 1_000,
      addAccounts: (accounts) =>
        addAccount(accounts, 'client', client_id, secret, scopeFor('write'), powerlessGrants),
    })
    const folder = dataPaths(server.folder)
    const ask = createClient(server.url, { Authorization: server.bearer })
    const witness = { name: 'witness', hostname: 'host.example', port: 22, username: 'ops' }
    assert.equal((await ask('POST', '/configurations/', { body: witness })).status, 200)

    const running = await server.attack('changesOfNothing', 4)
    const made = async () => (await running.tally())['PATCH 200'] ?? 0
    while ((await made()) < CHANGES_OF_NOTHING) await pause(100)
    const tally = await running.stop()
    const trail = (await readFile(folder.file('audit.jsonl'), 'utf8')).trim().split('\n')
    const ofNothing = trail.filter((line) => line.includes('"configurations_'))
    const bytes = ofNothing.reduce((sum, line) => sum + line.length, 0)
    t.diagnostic(`${ofNothing.length} lines, ${bytes} bytes; the attack: ${JSON.stringify(tally)}`)

    assert.ok(ofNothing.length <= UNCHANGED_LISTED.accountMax, `${ofNothing.length} lines`)
    assert.ok(bytes < ofNothing.length * 2 * AUDITED_QUERY_CHARACTERS_MAX, `${bytes} bytes`)
    const { history } = (await ask('GET', '/v1/history/witness')).json<{ history: { event: string }[] }>()
    assert.deepEqual(
      history.map(({ event }) => event),
      ['configuration_added'],
    )
  })

  it('an import that does not come leaves the slot to another account', async (t) => {
    const server = await startAttacked(t, { records: 1_000 })
    const ask = createClient(server.url)
    const login = await ask('POST', '/login', { body: admin })
    const headers = { Cookie: (login.headers['set-cookie']?.[0] ?? '').split(';')[0] ?? '' }
    const running = await server.attack('trickledImports', 1)
    await expectUnnoticed(t, server, 'meanwhile')
    const statuses: number[] = []
    for (let i = 0; i < IMPORTS; i += 1) {
      // The attacker has the slot again.
      while (((await running.tally()).opened ?? 0) <= i) await pause(50)
      await pause(250)
      const body = `name,hostname,port,username\nimported-${i},host.example,22,ops\n`
      statuses.push((await ask('POST', '/v1/import?format=csv', { headers, body })).status)
    }
    const tally = await running.stop()
    t.diagnostic(`${countOf(statuses, 200)} of ${IMPORTS} imports; the attack: ${JSON.stringify(tally)}`)
    assert.equal(countOf(statuses, 200), IMPORTS, statuses.join(' '))
    assert.ok((tally.opened ?? 0) > 0)
    await expectUnnoticed(t, server, 'afterwards')
  })
})
