import '../support/node-version.ts'
import assert from 'node:assert/strict'
import '../support/light-argon2.ts'
import { describe, it } from 'node:test'
import { PASSWORD_HASHES_MAX, PASSWORD_QUEUE_MAX } from '../../src/auth/password.ts'
import {
  ACCOUNT_KNOWN_NETWORKS_MAX,
  KNOWN_NETWORK_MS,
  KNOWN_NETWORKS_MAX,
  KnownNetworks,
} from '../../src/auth/secret-checks.ts'
import { FREE_FAILURES } from '../../src/auth/throttle.ts'
import { Samples } from '../metrics/scrape.ts'
import { holdClock } from '../support/held-clock.ts'
import { createClient } from '../support/http-client.ts'
import { admin, client, start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { holdArgon2Jobs } from './argon2-jobs.ts'

function setUp() {
  const held = holdClock()
  return { held, known: new KnownNetworks(held.make()) }
}

describe('the networks that are known for an account', () => {
  it('are those from which it has logged in', () => {
    const { known } = setUp()
    known.add('user one', '192.0.2.1')
    assert.ok(known.has('user one', '192.0.2.1'))
    assert.ok(!known.has('user one', '192.0.2.2'))
    assert.ok(!known.has('user other', '192.0.2.1'))
  })

  it('are known for a time after each login', () => {
    const { held, known } = setUp()
    known.add('user one', '192.0.2.1')
    held.advance(KNOWN_NETWORK_MS - 1)
    known.add('user one', '192.0.2.1')
    held.advance(KNOWN_NETWORK_MS - 1)
    assert.ok(known.has('user one', '192.0.2.1'))
    held.advance(1)
    assert.ok(!known.has('user one', '192.0.2.1'))
  })

  it('are bounded for an account, whose least recent one is forgotten', () => {
    const { known } = setUp()
    known.add('user other', 'home')
    known.add('user one', 'first')
    for (let i = 1; i < ACCOUNT_KNOWN_NETWORKS_MAX; i += 1) known.add('user one', `network ${i}`)
    known.add('user one', 'first')
    known.add('user one', 'one more')
    assert.ok(known.has('user one', 'first'))
    assert.ok(!known.has('user one', 'network 1'))
    assert.ok(known.has('user one', 'network 2'))
    assert.ok(known.has('user other', 'home'))
  })

  it('are bounded for all accounts, and one is forgotten of the account that logged in least recently', () => {
    const { known } = setUp()
    known.add('user quiet', 'first')
    known.add('user quiet', 'second')
    for (let i = 0; i < KNOWN_NETWORKS_MAX - 2; i += 1) known.add(`user ${i}`, 'home')
    assert.ok(known.has('user quiet', 'first'))
    known.add('user new', 'home')
    assert.ok(!known.has('user quiet', 'first'))
    assert.ok(known.has('user quiet', 'second'))
    known.add('user newer', 'home')
    known.add('user newest', 'home')
    assert.ok(!known.has('user quiet', 'second'))
    assert.ok(!known.has('user 0', 'home'))
    assert.ok(known.has('user 1', 'home'))
  })
})

const TOTAL = 'connbook_logins_total'

describe('connbook_logins_total', () => {
  it('has a sample for each outcome from the first scrape on', async (t) => {
    const { url } = await start(t, { flags: ['--metrics-public'] })
    const { text } = await createClient(url)('GET', '/metrics')
    const zeros = ['user', 'client'].flatMap((kind) =>
      ['ok', 'failed', 'throttled', 'not_checked'].map((outcome) => [
        `{kind="${kind}",outcome="${outcome}"}`,
        0,
      ]),
    )
    assert.deepEqual(new Samples(text).of(TOTAL), Object.fromEntries(zeros))
  })

  it('counts successful, failed and throttled logins and token requests, also for unknown accounts', async (t) => {
    const { url } = await start(t, { flags: ['--metrics-public'] })
    const ask = createClient(url)
    const statuses = async (times: number, path: string, body: unknown) => {
      const answers = await Promise.all(Array.from({ length: times }, () => ask('POST', path, { body })))
      return answers.map(({ status }) => status)
    }
    assert.deepEqual(await statuses(2, '/login', admin), [200, 200])
    assert.deepEqual(await statuses(1, '/login', { ...admin, username: 'nobody' }), [401])
    for (let i = 0; i < FREE_FAILURES; i++) {
      assert.deepEqual(await statuses(1, '/login', { ...admin, password: 'wrong' }), [401])
    }
    assert.deepEqual(await statuses(3, '/login', admin), [429, 429, 429])
    assert.deepEqual(await statuses(1, '/login', {}), [400])
    assert.deepEqual(await statuses(4, '/v1/auth/token', client), [200, 200, 200, 200])
    assert.deepEqual(await statuses(1, '/v1/auth/token', { ...client, client_secret: 'wrong' }), [401])
    const { text } = await ask('GET', '/metrics')
    assert.deepEqual(new Samples(text).of(TOTAL), {
      '{kind="user",outcome="ok"}': 2,
      '{kind="user",outcome="failed"}': 1 + FREE_FAILURES,
      '{kind="user",outcome="throttled"}': 3,
      '{kind="user",outcome="not_checked"}': 0,
      '{kind="client",outcome="ok"}': 4,
      '{kind="client",outcome="failed"}': 1,
      '{kind="client",outcome="throttled"}': 0,
      '{kind="client",outcome="not_checked"}': 0,
    })
  })

  it('counts attempts that overload kept from being checked', async (t) => {
    const handOver = holdArgon2Jobs(t)
    const { url } = await start(t, { folder: await temporaryFolder(t), flags: ['--metrics-public'] })
    const ask = createClient(url)
    const attempts = PASSWORD_HASHES_MAX + PASSWORD_QUEUE_MAX + 20
    const asked = Array.from({ length: attempts }, async (_, i) => {
      const answer = await ask('POST', '/login', { body: { ...admin, username: `user-${i}` } })
      // The first answers are refusals: no password is checked until then.
      handOver()
      return answer
    })
    const answers = await Promise.all(asked)
    const counted = (status: number) => answers.filter((answer) => answer.status === status).length
    assert.ok(counted(503) > 0)
    const samples = new Samples((await ask('GET', '/metrics')).text)
    assert.equal(samples.get(`${TOTAL}{kind="user",outcome="not_checked"}`), counted(503))
    assert.equal(samples.get(`${TOTAL}{kind="user",outcome="failed"}`), counted(401))
    assert.equal(counted(401) + counted(503), attempts)
  })
})
