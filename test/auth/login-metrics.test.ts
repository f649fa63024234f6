import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FREE_FAILURES, PASSWORD_HASHES_MAX, PASSWORD_QUEUE_MAX } from '../../src/limits.ts'
import { Samples } from '../metrics/scrape.ts'
import { createClient } from '../support/http-client.ts'
import { admin, client, start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { holdArgon2Jobs } from './argon2-jobs.ts'

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
