import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { IMPORT_AUDITED_RECORDS_MAX } from '../../src/limits.ts'
import { pathOf } from '../support/api.ts'
import { start, type TestService } from '../support/service.ts'
import { draft } from '../support/store.ts'

interface Entry {
  readonly time: string
  readonly event: string
  readonly by?: string
  readonly id?: number
  readonly name?: string
  readonly changed?: Readonly<Record<string, unknown>>
  readonly record?: Readonly<Record<string, unknown>>
}

/** Calls with the token of `script`. */
async function callerOf(service: TestService) {
  const headers = { Authorization: await service.bearer() }
  const send = (method: string, path: string, body?: unknown, more: Record<string, string> = {}) =>
    service.call(path, {
      method,
      headers: { ...headers, ...more },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  const ask = (query = '', more: Record<string, string> = {}) =>
    send('GET', `/v1/history${query}`, undefined, more)
  const read = async (query = '') => {
    const answer = await ask(query)
    assert.equal(answer.status, 200, query)
    const { history, since } = (await answer.json()) as { history: Entry[]; since: string }
    const [, next] = /^<([^>]*)>; rel="next"$/.exec(answer.headers.get('link') ?? '') ?? []
    return { history, since, next }
  }
  return {
    send,
    ask,
    read,
    namesOf: async (query: string) => (await read(query)).history.map(wordsOf),
    add: (name: string, more: object = {}) => send('POST', '/configurations/', draft(name, more)),
    modify: (name: string, patch: unknown) => send('PATCH', pathOf(name), patch),
    remove: (name: string) => send('DELETE', pathOf(name)),
    importAll: (names: readonly string[], more: object = {}) =>
      send(
        'POST',
        '/v1/import?format=jsonl',
        names.map((name) => JSON.stringify(draft(name, more))).join('\n'),
      ),
  }
}

const wordsOf = ({ event, name = '' }: Entry) => `${event.replace(/^configurations?_/, '')} ${name}`.trim()
const manyNames = Array.from({ length: IMPORT_AUDITED_RECORDS_MAX + 1 }, (_, i) => `n${i}`)

describe('GET /v1/history', () => {
  it('lists the changes of all records, newest first, with id and name before', async (t) => {
    const { add, modify, remove, read } = await callerOf(await start(t))
    await add('a')
    await add('b')
    await modify('a', { name: 'c', port: 23 })
    await remove('b')
    const { history, since, next } = await read()
    const by = { by: 'script', kind: 'client' }
    assert.deepEqual(
      history.map(({ time, ...rest }) => rest),
      [
        { event: 'configuration_deleted', ...by, id: 2, name: 'b', record: { id: 2, ...draft('b') } },
        {
          event: 'configuration_modified',
          ...by,
          id: 1,
          name: 'a',
          changed: { name: { before: 'a', after: 'c' }, port: { before: 22, after: 23 } },
        },
        { event: 'configuration_added', ...by, id: 2, name: 'b', record: { id: 2, ...draft('b') } },
        { event: 'configuration_added', ...by, id: 1, name: 'a', record: { id: 1, ...draft('a') } },
      ],
    )
    assert.equal(next, undefined)
    assert.ok(since <= (history.at(-1)?.time ?? ''), 'the start of the server')
  })

  it('goes on from an entry, whatever comes meanwhile', async (t) => {
    const { add, modify, read, send } = await callerOf(await start(t, { flags: ['--base-path', '/x'] }))
    for (const name of ['a', 'b', 'c', 'd', 'e']) await add(name, { labels: { env: 'test' } })
    for (const query of ['?limit=2', '?limit=2&label=env%3Dtest&since=1d&until=2999-01-01T00:00:00Z']) {
      const first = await read(query)
      const told = [first.history]
      assert.equal(first.since, first.history[1]?.time)
      for (let { next } = first; next !== undefined; ) {
        await modify('a', { port: 1 + told.length })
        assert.ok(next.startsWith('/x/v1/history?'))
        const answer = await send('GET', next.slice('/x'.length))
        const page = (await answer.json()) as { history: Entry[] }
        told.push(page.history)
        next = /^<([^>]*)>/.exec(answer.headers.get('link') ?? '')?.[1]
      }
      const added = told.flat().filter(({ event }) => event === 'configuration_added')
      assert.deepEqual(added.map(wordsOf), ['added e', 'added d', 'added c', 'added b', 'added a'])
      assert.ok(told.slice(1).every((page) => page.every(({ id }) => id !== undefined)))
    }
  })

  it('keeps what filters keep before or after the change', async (t) => {
    const { add, modify, remove, namesOf } = await callerOf(await start(t))
    await add('a', { labels: { env: 'prod', group: 'web,db' } })
    await add('b', { labels: { env: 'test' } })
    await modify('a', { port: 23 })
    await modify('a', { labels: { env: 'test' } })
    await modify('a', { port: 24 })
    await modify('b', { name: 'c' })
    await remove('a')
    assert.deepEqual(await namesOf('?label=env%3Dprod'), ['modified a', 'modified a', 'added a'])
    assert.deepEqual(await namesOf('?label=env%3Dprod&port=23'), ['modified a', 'modified a'])
    assert.deepEqual(await namesOf('?label=!env'), [])
    assert.deepEqual(await namesOf('?label=group%3Ddb&q=TEST'), ['deleted a', 'modified a', 'modified a'])
    assert.deepEqual(await namesOf('?name=c'), ['modified b'])
    assert.deepEqual(await namesOf('?prefix=b'), ['modified b', 'added b'])
    assert.deepEqual(await namesOf('?id=2'), ['modified b', 'added b'])
  })

  it('keeps what an account did, and what was done in a time', async (t) => {
    const { add, read, namesOf } = await callerOf(await start(t))
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() })
    await add('a')
    t.mock.timers.tick(60_000)
    await add('b')
    t.mock.timers.tick(60_000)
    await add('c')
    const [, b] = (await read()).history
    const time = encodeURIComponent(b?.time ?? '')
    assert.deepEqual(await namesOf(`?since=${time}`), ['added c', 'added b'])
    assert.deepEqual(await namesOf(`?until=${time}`), ['added a'])
    assert.deepEqual(await namesOf(`?since=${time}&until=${time}`), [])
    assert.deepEqual(await namesOf('?since=1m'), ['added c', 'added b'])
    assert.deepEqual(await namesOf('?until=1m'), ['added a'])
    assert.equal((await read(`?since=${time}`)).since, b?.time)
    assert.deepEqual(await namesOf('?by=script&limit=1'), ['added c'])
    assert.deepEqual(await namesOf('?by=admin'), [])
  })

  it('has one entry with its counts for an import that the trail only counts, without filters', async (t) => {
    const { add, modify, importAll, read, namesOf, send } = await callerOf(await start(t))
    await add('a')
    await importAll(['b', 'c'])
    await importAll(manyNames, { labels: { env: 'prod' } })
    await modify('n0', { port: 23 })
    await send('PATCH', '/configurations/?label=env%3Dprod', { username: 'eve' })
    const { history, since } = await read()
    assert.deepEqual(history.map(wordsOf), [
      'changed',
      'modified n0',
      'imported',
      'added c',
      'added b',
      'added a',
    ])
    const [many, , imported] = history.map(({ time, ...rest }) => rest)
    const by = { by: 'script', kind: 'client' }
    assert.deepEqual(many, {
      event: 'configurations_changed',
      ...by,
      matched: manyNames.length,
      modified: manyNames.length,
      unchanged: 0,
      changed: { username: 'eve' },
      query: 'label=env%3Dprod',
    })
    assert.deepEqual(imported, {
      event: 'configurations_imported',
      ...by,
      mode: 'merge',
      added: manyNames.length,
      modified: 0,
      removed: 0,
      unchanged: 0,
    })
    assert.ok(since <= (history.at(-1)?.time ?? ''), 'nothing is missing')
    assert.deepEqual(await namesOf('?by=script&limit=3'), ['changed', 'modified n0', 'imported'])
    const filtered = await read('?name=n0')
    assert.deepEqual(filtered.history.map(wordsOf), ['modified n0'])
    assert.equal(filtered.since, history[0]?.time, 'the change that is only counted may be of it')
  })

  it('refuses what it does not know, naming it', async (t) => {
    const { ask } = await callerOf(await start(t))
    const faulty = {
      since: ['', '7', '7 d', '1s', '2026-01-31', '2026-02-30T00:00:00Z', '2026-01-31T08:00:00 01:00'],
      until: ['yesterday', '-1d'],
      by: ['', 'x'.repeat(256)],
      limit: ['0', '1001', '01', ''],
      before: ['', '1', 'x', 'other000-5.1', 'other000-5'],
      sort: ['name'],
      page: ['0'],
      per_page: ['10'],
      label: ['', '='],
      port: ['x'],
      kind: ['user'],
    }
    for (const [field, values] of Object.entries(faulty))
      for (const value of values) {
        const answer = await ask(`?${field}=${encodeURIComponent(value)}`)
        const { errors } = (await answer.json()) as { errors: { field: string }[] }
        assert.deepEqual([answer.status, errors.map((one) => one.field)], [400, [field]], `${field} ${value}`)
      }
    assert.equal((await ask('?since=1d&since=2d')).status, 400)
  })

  it('has an ETag, and takes GET and HEAD alone', async (t) => {
    const { add, ask, send } = await callerOf(await start(t))
    await add('a')
    await add('b')
    const first = await ask('?limit=1')
    const [tag, link] = [first.headers.get('etag') ?? '', first.headers.get('link')]
    const same = await ask('?limit=1', { 'If-None-Match': tag })
    assert.deepEqual([same.status, same.headers.get('link'), await same.text()], [304, link, ''])
    assert.equal((await ask('', { 'If-Match': tag })).status, 412)
    const head = await send('HEAD', '/v1/history?limit=1')
    assert.deepEqual([head.status, head.headers.get('link')], [200, link])
    assert.equal((await send('POST', '/v1/history', {})).status, 405)
  })
})
