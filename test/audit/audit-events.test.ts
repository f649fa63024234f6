import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Agent } from 'node:http'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { ATTEMPTS_LISTED_MAX } from '../../src/auth/attempt-log.ts'
import { FREE_FAILURES } from '../../src/auth/throttle.ts'
import { runCommand } from '../support/command.ts'
import { holdClock } from '../support/held-clock.ts'
import { createClient } from '../support/http-client.ts'
import { admin, client, start, usedFolder } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { addedBy, trailIn } from './trail.ts'

const record = { name: 'db main', hostname: 'db.example.net', port: 5432, username: 'u' }

/** How tags name the store of a folder. */
function storeOf(folder: string): string {
  const header = readFileSync(join(folder, 'journal.jsonl'), 'utf8')
  return /"store":"(.{8})/.exec(header)?.[1] ?? assert.fail('the journal names no store')
}

/** @param given A folder; by default one that already has accounts. */
async function setUp(t: TestContext, given?: string) {
  const folder = given ?? (await usedFolder(t))
  const service = await start(t, { folder })
  const cookie = await service.cookie()
  const ask = createClient(service.url, { Cookie: cookie, 'X-Request-Id': 'r1' })
  const by = { address: '127.0.0.1', kind: 'user', by: 'admin', request_id: 'r1' }
  return {
    folder,
    service,
    cookie,
    ask,
    by,
    added: (action: () => Promise<unknown>, changes?: number) => addedBy(folder, action, changes),
    tag: (revision: number) => `${storeOf(folder)}-${revision}`,
  }
}

describe('a change of the records', () => {
  it('is recorded with its author and the changed fields, and not at all if nothing changed', async (t) => {
    const { ask, by, added, tag } = await setUp(t)
    const path = '/configurations/db%20main'
    assert.deepEqual(await added(() => ask('POST', '/configurations/', { body: record }), 1), [
      { event: 'configuration_added', ...by, tag: tag(1), record: { id: 1, ...record } },
    ])
    for (const [revision, body, changed] of [
      [2, { port: 5433, username: 'u' }, { port: { before: 5432, after: 5433 } }],
      [
        3,
        { hostname: '::1', username: 'v' },
        { hostname: { before: 'db.example.net', after: '::1' }, username: { before: 'u', after: 'v' } },
      ],
    ] as const) {
      assert.deepEqual(await added(() => ask('PATCH', path, { body }), 1), [
        { event: 'configuration_modified', ...by, tag: tag(revision), id: 1, name: 'db main', changed },
      ])
    }
    const same = { hostname: '::1' }
    const whole = { hostname: '::1', port: 5433, username: 'v' }
    const unchanged: [method: string, path: string, body?: unknown][] = [
      ['PATCH', path, same],
      ['PATCH', path, { port: 0 }],
      ['PUT', path, whole],
      ['PUT', path, { ...whole, name: 'x' }],
      ['POST', '/configurations/', record],
      ['PATCH', '/configurations/none', same],
      ['DELETE', '/configurations/none'],
      ['GET', path],
    ]
    for (const [method, target, body] of unchanged) {
      assert.deepEqual(await added(() => ask(method, target, { body })), [], method)
    }
    assert.deepEqual(await added(() => ask('PATCH', path, { body: { name: 'x' } }), 1), [
      {
        event: 'configuration_modified',
        ...by,
        tag: tag(4),
        id: 1,
        name: 'db main',
        changed: { name: { before: 'db main', after: 'x' } },
      },
    ])
    const last = { id: 1, name: 'x', hostname: '::1', port: 5433, username: 'v' }
    assert.deepEqual(await added(() => ask('DELETE', '/configurations/x'), 1), [
      { event: 'configuration_deleted', ...by, tag: tag(5), record: last },
    ])
  })

  it('is recorded for PUT as for an add or a modification', async (t) => {
    const { ask, by, added, tag } = await setUp(t)
    const path = '/configurations/db%20main'
    const { name: _, ...body } = record
    assert.deepEqual(await added(() => ask('PUT', path, { body }), 1), [
      { event: 'configuration_added', ...by, tag: tag(1), record: { id: 1, ...record } },
    ])
    assert.deepEqual(await added(() => ask('PUT', path, { body: { ...record, port: 1 } }), 1), [
      {
        event: 'configuration_modified',
        ...by,
        tag: tag(2),
        id: 1,
        name: 'db main',
        changed: { port: { before: record.port, after: 1 } },
      },
    ])
  })

  it('is recorded once, in the order of the changes, when several callers write at once', async (t) => {
    const { ask, added } = await setUp(t)
    await added(() => ask('POST', '/configurations/', { body: record }), 1)
    const lines = await added(
      () =>
        Promise.all(
          Array.from({ length: 50 }, (_, i) =>
            ask('PATCH', '/configurations/db%20main', { body: { port: i + 1 } }),
          ),
        ),
      50,
    )
    assert.equal(lines.length, 50)
    let port = record.port
    for (const { changed } of lines as unknown as {
      changed: { port: { before: number; after: number } }
    }[]) {
      assert.equal(changed.port.before, port)
      port = changed.port.after
    }
  })
})

describe('an attempt to authenticate', () => {
  const from = { address: '127.0.0.1', request_id: 'r1' }

  it('is recorded, whether it succeeds, fails or is throttled', async (t) => {
    const { ask, added, service } = await setUp(t)
    const login = (body: object) => () => ask('POST', '/login', { body })
    const token = (body: object) => () => ask('POST', '/v1/auth/token', { body })
    const wrong = { ...admin, password: 'hunter2-wrong' }
    const wrongSecret = { ...client, client_secret: 'hunter3-wrong' }
    assert.deepEqual(await added(login(admin)), [{ event: 'logged_in', ...from, account: 'admin' }])
    assert.deepEqual(await added(login(wrong)), [{ event: 'login_failed', ...from, account: 'admin' }])
    assert.deepEqual(await added(login({ ...wrong, username: 'hunter4' })), [
      { event: 'login_failed', ...from },
    ])
    for (let i = 1; i < 10; i++) await login(wrong)()
    assert.deepEqual(await added(login(admin)), [{ event: 'login_throttled', ...from, account: 'admin' }])
    assert.deepEqual(await added(token(client)), [{ event: 'token_issued', ...from, account: 'script' }])
    assert.deepEqual(await added(token(wrongSecret)), [
      { event: 'token_refused', ...from, account: 'script' },
    ])
    assert.deepEqual(await added(() => ask('POST', '/logout')), [
      { event: 'logged_out', ...from, kind: 'user', by: 'admin', account: 'admin' },
    ])
    const bearer = await service.bearer()
    const text = await readFile(join(service.folder.path, 'audit.jsonl'), 'utf8')
    const secrets = [
      admin.password,
      client.client_secret,
      'hunter',
      bearer.slice(7),
      bearer.split('.')[2] ?? '',
    ]
    for (const secret of secrets) assert.ok(!text.includes(secret), secret)
  })
})

describe('a command', () => {
  it('is recorded with the system account that ran it, with or without a running server', {}, async (t) => {
    const { folder, service } = await setUp(t)
    const { username } = userInfo()
    const run =
      (words: readonly string[], input = '') =>
      async () => {
        const { code, stderr } = await runCommand([...words, '--data', folder], { input })
        assert.equal(code, 0, stderr)
      }
    const rows: [words: string[], event: string][] = [
      [['user', 'add', 'o"p\u2028s'], 'user_added'],
      [['user', 'passwd', 'o"p\u2028s'], 'user_password_changed'],
      [['user', 'remove', 'o"p\u2028s'], 'user_removed'],
      [['client', 'add', 'ci'], 'client_added'],
      [['client', 'rotate', 'ci'], 'client_rotated'],
      [['client', 'remove', 'ci'], 'client_removed'],
    ]
    for (const [words, event] of rows) {
      const [kind = '', verb = '', account] = words
      assert.deepEqual(await addedBy(folder, run(words, 'secret password')), [
        {
          event,
          command: `${kind} ${verb}`,
          by: username,
          account,
          ...(verb === 'add' ? { scope: 'read write' } : {}),
        },
      ])
    }
    for (const [verb, event] of [
      ['rotate', 'keys_rotated'],
      ['revoke-all', 'keys_revoked'],
    ] as const) {
      const [line] = await addedBy(folder, run(['keys', verb]))
      const { stdout } = await runCommand(['keys', 'list', '--data', folder])
      assert.deepEqual(line, { event, command: `keys ${verb}`, by: username, key: stdout.split(' ')[0] })
    }
    assert.deepEqual(await addedBy(folder, run(['user', 'list'])), [])
    assert.ok(!(await readFile(join(folder, 'audit.jsonl'), 'utf8')).includes('secret password'))
    await service.stop()
    const backup = join(await temporaryFolder(t), 'backup.json')
    await run(['backup', backup])()
    const [restored] = await addedBy(folder, run(['restore', backup]))
    assert.deepEqual(
      { ...restored, as_of: '' },
      { event: 'restored', command: 'restore', by: username, as_of: '' },
    )
  })
})

describe('a server', () => {
  it('records when it starts and stops', async (t) => {
    const { folder, service } = await setUp(t, await temporaryFolder(t))
    await service.stop()
    const lines = await trailIn(folder)
    const { event, users, clients } = lines[0] ?? {}
    assert.deepEqual([event, users, clients], ['first_started', ['admin'], ['script']])
    assert.deepEqual(
      [lines[1]?.event, lines[1]?.pid, lines[1]?.tag, lines[1]?.url],
      ['started', process.pid, `${storeOf(folder)}-0`, service.url],
    )
    assert.equal(lines.at(-1)?.event, 'stopped')
  })

  it('records how many attempts it did not list, at the latest when it stops', async (t) => {
    const folder = await usedFolder(t)
    // It stands still: all attempts come within the time for which so many are listed.
    const service = await start(t, { folder, clock: holdClock(Date.now()) })
    const attempts = ATTEMPTS_LISTED_MAX + 15
    const agent = new Agent({ keepAlive: true, maxSockets: 8 })
    t.after(() => agent.destroy())
    const ask = createClient(service.url, {}, { agent })
    const guess = (_: unknown, i: number) =>
      ask('POST', '/v1/auth/token', { body: { client_id: 'script', client_secret: `guess ${i}` } })
    const added = await addedBy(folder, async () => {
      // If more came at once, those beyond the free failures would not be checked.
      await Promise.all(Array.from({ length: FREE_FAILURES }, guess))
      await Promise.all(Array.from({ length: attempts - FREE_FAILURES }, guess))
      // Otherwise the stop waits for its connections.
      agent.destroy()
      await service.stop()
    })
    const listed = added.filter(({ event }) => /^token_(refused|throttled)$/.test(String(event)))
    assert.equal(listed.length, ATTEMPTS_LISTED_MAX)
    assert.deepEqual(added.slice(-2), [
      { event: 'attempts_not_listed', count: 15 },
      { event: 'stopped', pid: process.pid },
    ])
  })
})
