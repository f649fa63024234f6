import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { Agent } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { type AuditEvent, auditEvents } from '../../src/audit/audit-line.ts'
import { ATTEMPTS_LISTED_MAX, SUCCESSES_LISTED } from '../../src/auth/attempt-log.ts'
import { PASSWORD_CHANGES_MAX } from '../../src/auth/authenticator.ts'
import { UNCHANGED_LISTED } from '../../src/resources/unchanged-calls.ts'
import { holdClock } from '../support/held-clock.ts'
import { type Ask, createClient } from '../support/http-client.ts'
import { admin, client, start, usedFolder } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { type Line, trailIn } from './trail.ts'

/**
 * Who can cause a line, and what bounds how many there are:
 *
 * - `machine`: a start, a stop, or a command of somebody who can write the folder anyway.
 * - `change`: something became otherwise. It is always listed, and whoever causes it has the right to.
 * - `throttled`: a change that is the caller's own right; calls beyond a rate are refused.
 * - a budget: those beyond it are counted in the line that it names.
 * - `count`: such a line, one for each window of time, or for each account in it.
 */
type Bound = 'machine' | 'change' | 'throttled' | 'count' | Budget

interface Budget {
  readonly countedBy: AuditEvent
  /** Lines for one account, or one stranger, from one network; of all events with this budget together. */
  readonly max: number
}

const attempts: Budget = { countedBy: 'attempts_not_listed', max: ATTEMPTS_LISTED_MAX }
const successes: Budget = { countedBy: 'successes_not_listed', max: SUCCESSES_LISTED.pairMax }
const unchanged: Budget = { countedBy: 'unchanged_not_listed', max: UNCHANGED_LISTED.pairMax }

interface Row {
  readonly event: AuditEvent
  readonly who: 'anybody' | 'account' | 'writer' | 'admin' | 'server' | 'owner'
  readonly bounds: readonly Bound[]
}

const rows: readonly Row[] = [
  { event: 'first_started', who: 'owner', bounds: ['machine'] },
  { event: 'started', who: 'owner', bounds: ['machine'] },
  { event: 'stopped', who: 'owner', bounds: ['machine'] },
  { event: 'logged_in', who: 'account', bounds: [successes] },
  { event: 'logged_out', who: 'account', bounds: [successes] },
  { event: 'token_issued', who: 'account', bounds: [successes] },
  { event: 'login_failed', who: 'anybody', bounds: [attempts] },
  { event: 'login_throttled', who: 'anybody', bounds: [attempts] },
  { event: 'login_not_checked', who: 'anybody', bounds: [attempts] },
  { event: 'token_refused', who: 'anybody', bounds: [attempts] },
  { event: 'token_throttled', who: 'anybody', bounds: [attempts] },
  { event: 'token_not_checked', who: 'anybody', bounds: [attempts] },
  { event: 'token_scope_refused', who: 'account', bounds: [attempts] },
  { event: 'attempts_not_listed', who: 'server', bounds: ['count'] },
  { event: 'successes_not_listed', who: 'server', bounds: ['count'] },
  { event: 'unchanged_not_listed', who: 'server', bounds: ['count'] },
  { event: 'credentials_ended', who: 'account', bounds: ['throttled'] },
  { event: 'configuration_added', who: 'writer', bounds: ['change'] },
  { event: 'configuration_modified', who: 'writer', bounds: ['change'] },
  { event: 'configuration_deleted', who: 'writer', bounds: ['change'] },
  { event: 'configurations_imported', who: 'writer', bounds: ['change', unchanged] },
  { event: 'configurations_changed', who: 'writer', bounds: ['change', unchanged] },
  { event: 'configurations_removed', who: 'writer', bounds: ['change', unchanged] },
  { event: 'user_added', who: 'admin', bounds: ['change'] },
  { event: 'user_password_changed', who: 'account', bounds: ['change', 'throttled'] },
  { event: 'user_changed', who: 'admin', bounds: ['change'] },
  { event: 'user_removed', who: 'admin', bounds: ['change'] },
  { event: 'client_added', who: 'admin', bounds: ['change'] },
  { event: 'client_rotated', who: 'admin', bounds: ['change'] },
  { event: 'client_changed', who: 'admin', bounds: ['change'] },
  { event: 'client_removed', who: 'admin', bounds: ['change'] },
  { event: 'keys_rotated', who: 'owner', bounds: ['machine'] },
  { event: 'keys_revoked', who: 'owner', bounds: ['machine'] },
  { event: 'restored', who: 'owner', bounds: ['machine'] },
  { event: 'recovered', who: 'owner', bounds: ['machine'] },
  { event: 'lines_lost', who: 'server', bounds: ['count'] },
]

/** How often each call is made: more than any budget for one account from one network. */
const CALLS = ATTEMPTS_LISTED_MAX + 10
const budgets = [attempts, successes, unchanged]

/** A server whose clock stands still, and the lines that its trail has in the end, without those of the start. */
async function open(t: TestContext) {
  const service = await start(t, { folder: await usedFolder(t), clock: holdClock(Date.now()) })
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  t.after(() => agent.destroy())
  const ask = createClient(service.url, {}, { agent })
  const begun = (await trailIn(service.folder.path)).length
  const as = (headers: Record<string, string>) => createClient(service.url, headers, { agent })
  return {
    ask,
    as,
    bearer: async () => as({ Authorization: await service.bearer() }),
    async end(): Promise<Line[]> {
      agent.destroy()
      await service.stop()
      return (await trailIn(service.folder.path)).slice(begun)
    },
  }
}

async function repeat(call: () => Promise<unknown>, times = CALLS) {
  for (let i = 0; i < times; i++) await call()
}

function eventsOf(budget: Budget): string[] {
  return rows.flatMap(({ event, bounds }) => (bounds.includes(budget) ? [event] : []))
}

/** Asserts that a budget was kept, and that no call is missing in the trail. */
function checkBudget(lines: readonly Line[], budget: Budget, calls: number) {
  const listed = lines.filter(({ event }) => eventsOf(budget).includes(String(event))).length
  const counts = lines.filter(({ event }) => event === budget.countedBy)
  const counted = counts.reduce((sum, { count }) => sum + Number(count), 0)
  assert.ok(listed <= budget.max, `${listed} lines that ${budget.countedBy} should count`)
  assert.equal(listed + counted, calls, budget.countedBy)
}

/** Lines that are there although nobody had the right to a change. */
function unbounded(lines: readonly Line[]): Line[] {
  const bounded = [...budgets.flatMap(eventsOf), ...budgets.map(({ countedBy }) => countedBy), 'stopped']
  return lines.filter(({ event }) => !bounded.includes(String(event)))
}

describe('a line of the audit trail', () => {
  it('has somebody who can cause it, and a bound, for each event', () => {
    assert.deepEqual(rows.map(({ event }) => event).toSorted(), auditEvents.toSorted())
    for (const { event, who, bounds } of rows) {
      if (who === 'anybody') assert.ok(!bounds.includes('change'), `${event}: anybody may cause it`)
      if (who !== 'owner') assert.ok(!bounds.includes('machine'), event)
    }
  })

  it('is written for so many failed attempts of one network; the others are counted', async (t) => {
    const { ask, end } = await open(t)
    const guess = { ...admin, password: 'a guess' }
    const half = CALLS / 2
    await repeat(() => ask('POST', '/login', { body: guess }), half)
    await repeat(() => ask('POST', '/v1/auth/token', { body: { ...client, client_secret: 'a guess' } }), half)
    checkBudget(await end(), attempts, CALLS)
  })

  it('is written for so many refused scopes; the others are counted', async (t) => {
    const { ask, end } = await open(t)
    await repeat(() => ask('POST', '/v1/auth/token', { body: { ...client, scope: 'admin' } }))
    checkBudget(await end(), attempts, CALLS)
  })

  it('is written for so many attempts that come all at once; the others are counted', async (t) => {
    const { ask, end } = await open(t)
    const body = { ...client, client_secret: 'a guess' }
    const bodies = Array.from({ length: CALLS }, () => body)
    await Promise.all(bodies.map((body) => ask('POST', '/v1/auth/token', { body })))
    await Promise.all(bodies.map(() => ask('POST', '/login', { body: { ...admin, password: 'a guess' } })))
    checkBudget(await end(), attempts, 2 * CALLS)
  })

  it('is written for so many logins, logouts and tokens of an account; the others are counted', async (t) => {
    const { ask, as, end } = await open(t)
    await repeat(async () => {
      const { headers } = await ask('POST', '/login', { body: admin })
      await as({ Cookie: headers['set-cookie']?.[0]?.split(';')[0] ?? '' })('POST', '/logout')
    })
    const lines = await end()
    checkBudget(lines, successes, 2 * CALLS)
    assert.deepEqual(unbounded(lines), [])
  })

  it('is written for so many calls that change nothing, however they do; the others are counted', async (t) => {
    const { bearer, end } = await open(t)
    const ask = await bearer()
    await ask('POST', '/configurations/', { body: draft('a') })
    const same = 'name,hostname,port,username\na,host.example,22,ops\n'
    const calls = [
      () => ask('PATCH', '/configurations/?name=none', { body: { port: 1 } }),
      () => ask('PATCH', '/configurations/?name=a', { body: { port: 22 } }),
      () => ask('PATCH', '/configurations/?all=1', { body: {} }),
      () => ask('DELETE', '/configurations/?label=none'),
      () => ask('POST', '/v1/import?format=csv', { body: same }),
      () => ask('POST', '/v1/import?format=csv&mode=replace', { body: same }),
      () => ask('POST', '/v1/import', { body: [] }),
    ]
    for (const call of calls) {
      assert.equal((await call()).status, 200)
      await repeat(call, CALLS - 1)
    }
    const lines = await end()
    checkBudget(lines, unchanged, calls.length * CALLS)
    assert.deepEqual(
      unbounded(lines).map(({ event }) => event),
      ['configuration_added'],
    )
  })

  it('is written for each change, also for one that is made again and again', async (t) => {
    const { bearer, end } = await open(t)
    const ask = await bearer()
    await ask('POST', '/configurations/', { body: draft('a', { port: 1 }) })
    for (let i = 0; i < CALLS; i++)
      await ask('PATCH', '/configurations/?name=a', { body: { port: 2 - (i % 2) } })
    const lines = (await end()).filter(({ event }) => event === 'configurations_changed')
    assert.equal(lines.length, CALLS)
  })

  it('is not written for dry runs, nor for what is refused', async (t) => {
    const { bearer, end } = await open(t)
    const ask = await bearer()
    await ask('POST', '/configurations/', { body: draft('a') })
    const calls: [method: string, path: string, body: unknown, status: number][] = [
      ['PATCH', '/configurations/?name=a&dry_run=1', { port: 1 }, 200],
      ['DELETE', '/configurations/?all=1&dry_run=1', undefined, 200],
      ['POST', '/v1/import?dry_run=1', [draft('b')], 200],
      ['PATCH', '/configurations/', { port: 1 }, 400],
      ['PATCH', '/configurations/?name=a', { port: 0 }, 400],
      ['POST', '/v1/import', [{ name: 'b' }], 400],
      ['POST', '/configurations/', draft('a'), 409],
      ['DELETE', '/configurations/none', undefined, 404],
      ['POST', '/v1/clients/', { name: 'x' }, 403],
    ]
    for (const [method, path, body, status] of calls)
      assert.equal((await ask(method, path, { body })).status, status, `${method} ${path}`)
    const events = (await end()).map(({ event }) => event)
    assert.deepEqual(events, ['token_issued', 'configuration_added', 'stopped'])
  })

  it('is written for changes of the own password, until they are refused', async (t) => {
    const { ask, as, end } = await open(t)
    const { headers } = await ask('POST', '/login', { body: admin })
    let cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    const { password } = admin
    let last = 0
    await repeat(async () => {
      const body = { password, new_password: password }
      const answer = await as({ Cookie: cookie })('POST', '/v1/password', { body })
      last = answer.status
      cookie = answer.headers['set-cookie']?.[0]?.split(';')[0] ?? cookie
    }, PASSWORD_CHANGES_MAX + 2)
    assert.equal(last, 503)
    const changed = (await end()).filter(({ event }) => event === 'user_password_changed')
    assert.equal(changed.length, PASSWORD_CHANGES_MAX)
  })

  for (const scope of ['read', 'write'])
    it(`is bounded whatever an account that may change nothing calls: ${scope}`, async (t) => {
      const { ask, as, end } = await open(t)
      const owner = await ask('POST', '/login', { body: admin })
      const cookie = owner.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
      const body = { name: 'limited', scope, grants: ['read?prefix=nothing/'] }
      const added = await as({ Cookie: cookie })('POST', '/v1/clients/', { body })
      assert.equal(added.status, 201, added.text)
      const [{ secret } = { secret: '' }] = added.json<{ accounts: { secret: string }[] }>().accounts
      const issued = await ask('POST', '/v1/auth/token', {
        body: { client_id: 'limited', client_secret: secret },
      })
      const { access_token } = issued.json<{ access_token: string }>()
      const limited = as({ Authorization: `Bearer ${access_token}` })
      for (const call of await callsOf(limited)) await repeat(() => limited(...call), 12)
      const lines = await end()
      for (const budget of budgets) {
        const listed = lines.filter(({ event }) => eventsOf(budget).includes(String(event)))
        // The admin logged in, too.
        assert.ok(listed.length <= budget.max + 1, `${listed.length} of ${budget.countedBy}`)
      }
      assert.deepEqual(
        unbounded(lines).map(({ event }) => event),
        ['client_added'],
      )
    })
})

/** A call of each operation that the server describes, but those that wait, and those that end the caller's token. */
async function callsOf(ask: Ask): Promise<Parameters<Ask>[]> {
  const { paths } = (await ask('GET', '/openapi.json')).json<{ paths: Record<string, object> }>()
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).flatMap((name): Parameters<Ask>[] => {
      const method = name.toUpperCase()
      if (!['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].includes(method)) return []
      if (/events|logout|revoke/.test(path)) return []
      const query = path === '/configurations/' && method !== 'POST' && method !== 'GET' ? '?all=1' : ''
      const body = method === 'GET' ? undefined : bodyOf(path)
      return [[method, path.replace(/\{\w+\}/g, 'limited') + query, { body }]]
    }),
  )
}

function bodyOf(path: string): unknown {
  if (path === '/login') return { username: 'limited', password: 'a guess' }
  return path === '/v1/import' ? [] : { port: 1 }
}
