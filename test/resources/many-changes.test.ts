import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it, type TestContext } from 'node:test'
import { CHANGES_SHOWN_MAX, FAULTS_MAX } from '../../src/limits.ts'
import type { Labels } from '../../src/store/labels.ts'
import { trailIn } from '../audit/trail.ts'
import { eventually } from '../support/eventually.ts'
import { createClient, faultyFields, namesIn, recordsIn } from '../support/http-client.ts'
import { start } from '../support/service.ts'
import { draft } from '../support/store.ts'

const path = '/configurations/'

/** A server with records a1 to a3 of "prod", b1 of "test" and c without labels. */
async function open(t: TestContext) {
  const service = await start(t)
  const ask = createClient(service.url, { Authorization: await service.bearer() })
  const add = async (name: string, labels: Labels = {}) => {
    const { status, text } = await ask('POST', path, { body: { ...draft(name), labels } })
    assert.equal(status, 200, text)
  }
  for (const name of ['a1', 'a2', 'a3']) await add(name, { env: 'prod' })
  await add('b1', { env: 'test' })
  await add('c')
  const list = async () => {
    const { text, headers } = await ask('GET', path)
    return { text, tag: String(headers.etag) }
  }
  return { service, ask, add, list }
}

const change = (service: Awaited<ReturnType<typeof open>>, query: string, body: object, headers = {}) =>
  service.ask('PATCH', `${path}?${query}`, { body, headers })

describe('PATCH /configurations/?FILTERS', () => {
  it('changes all records that the filters keep, and no others', async (t) => {
    const opened = await open(t)
    const answer = await change(opened, 'label=env=prod', { port: 2222, labels: { env: 'live', note: 'x' } })
    assert.deepEqual([answer.status, answer.text], [200, '{"matched":3,"modified":3,"unchanged":0}'])
    const { tag } = await opened.list()
    assert.equal(answer.headers.etag, tag)
    assert.equal(answer.headers['cache-control'], 'no-cache, private')
    const records = recordsIn(await opened.ask('GET', path))
    assert.deepEqual(
      records.map(({ name, port, labels }) => [name, port, labels]),
      [
        ...['a1', 'a2', 'a3'].map((name) => [name, 2222, { env: 'live', note: 'x' }]),
        ['b1', 22, { env: 'test' }],
        ['c', 22, undefined],
      ],
    )
    const again = await change(opened, 'label=env=live&prefix=a', { port: 2222, labels: { gone: null } })
    assert.deepEqual([again.text, again.headers.etag], ['{"matched":3,"modified":0,"unchanged":3}', tag])
    const some = await change(opened, 'id=3,1,5', { port: 2222 })
    assert.equal(some.text, '{"matched":3,"modified":1,"unchanged":2}')
    assert.equal(
      (await change(opened, 'q=nothing', { port: 1 })).text,
      '{"matched":0,"modified":0,"unchanged":0}',
    )
    assert.equal(
      (await change(opened, 'all=1', { username: 'all' })).text,
      '{"matched":5,"modified":5,"unchanged":0}',
    )
    assert.equal((await change(opened, 'all=1', {})).text, '{"matched":5,"modified":0,"unchanged":5}')
    assert.equal(
      (await change(opened, 'label=!env', { port: 7 })).text,
      '{"matched":1,"modified":1,"unchanged":0}',
    )
  })

  it('shows in a dry run what would become of each record, and changes nothing', async (t) => {
    const opened = await open(t)
    const before = await opened.list()
    const tried = await change(opened, 'label=env&dry_run=1', { port: 2222, labels: { env: null, x: '' } })
    assert.equal(tried.status, 200)
    const changed = (name: string, env: string) => ({
      name,
      changed: {
        port: { before: 22, after: 2222 },
        'labels.env': { before: env, after: null },
        'labels.x': { before: null, after: '' },
      },
    })
    assert.deepEqual(tried.json(), {
      dry_run: true,
      matched: 4,
      modified: 4,
      unchanged: 0,
      changed: [...['a1', 'a2', 'a3'].map((name) => changed(name, 'prod')), changed('b1', 'test')],
    })
    assert.equal(tried.headers.etag, before.tag)
    assert.deepEqual(await opened.list(), before)
    const made = await change(opened, 'label=env', { port: 1 }, { 'If-Match': tried.headers.etag })
    assert.equal(made.status, 200)
    const stale = await change(opened, 'label=env', { port: 2 }, { 'If-Match': tried.headers.etag })
    assert.deepEqual(
      [stale.status, stale.json<{ type: string }>().type],
      [412, 'urn:connbook:problem:stale_record'],
    )
    const staleTrial = await change(opened, 'name=c&dry_run=1', {}, { 'If-Match': tried.headers.etag })
    assert.equal(staleTrial.status, 412)
    assert.equal((await change(opened, 'name=c', { port: 3 }, { 'If-Match': '*' })).status, 200)
  })

  it('changes at most as many as max-affected allows', async (t) => {
    const opened = await open(t)
    const before = await opened.list()
    for (const query of ['label=env', 'label=env&dry_run=1']) {
      const refused = await change(opened, query, { port: 1 }, { Prefer: 'max-affected=3' })
      assert.equal(refused.status, 400)
      const { type, detail } = refused.json<{ type: string; detail: string }>()
      assert.equal(type, 'urn:connbook:problem:too_many_affected')
      assert.match(
        detail,
        /^The filters keep 4 records, more than the 3 of max-affected; nothing has changed;/,
      )
      assert.equal(refused.headers['preference-applied'], undefined)
    }
    assert.deepEqual(await opened.list(), before)
    for (const [prefer, applied] of [
      ['max-affected=4', 'max-affected=4'],
      ['respond-async, MAX-AFFECTED = "4" ; x=1', 'max-affected=4'],
      ['wait=1', undefined],
    ]) {
      const made = await change(opened, 'label=env', {}, { Prefer: prefer })
      assert.deepEqual([made.status, made.headers['preference-applied']], [200, applied])
    }
    const none = await change(opened, 'q=nothing', { port: 1 }, { Prefer: 'max-affected=0' })
    assert.deepEqual([none.status, none.headers['preference-applied']], [200, 'max-affected=0'])
  })

  it('names each record that would become invalid, and changes none', async (t) => {
    const opened = await open(t)
    const full = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`k${i}`, '']))
    for (const name of ['full1', 'full2']) await opened.add(name, full)
    const before = await opened.list()
    const refused = await change(opened, 'all=1', { port: 1, labels: { more: '' } })
    assert.equal(refused.status, 400)
    assert.deepEqual(
      refused.json<{ errors: unknown }>().errors,
      ['full1', 'full2'].map((name) => ({
        field: 'labels',
        detail: 'must be at most 32; these are 33',
        name,
      })),
    )
    const limited = await change(opened, 'all=1', { labels: { more: '' } }, { Prefer: 'max-affected=1' })
    assert.match(limited.text, /too_many_affected/)
    assert.deepEqual(await opened.list(), before)
  })

  it('does one of two changes with the same tag', async (t) => {
    const opened = await open(t)
    const { tag } = await opened.list()
    const both = await Promise.all(
      [1, 2].map((port) => change(opened, 'all=1', { port }, { 'If-Match': tag })),
    )
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 412])
    assert.equal(new Set(recordsIn(await opened.ask('GET', path)).map(({ port }) => port)).size, 1)
  })

  it('has the beginning of a long query in the audit trail, and its hash', async (t) => {
    const opened = await open(t)
    // The cut would fall into a character of it.
    const query = Array.from(
      { length: 7 },
      (_, i) => `label=${encodeURIComponent(`k${i}=${'€'.repeat(50)}`)}`,
    )
    await change(opened, query.join('&'), { port: 1 })
    const short = `label=${'x'.repeat(60)}`
    const labels = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [`label-${i}`.padEnd(40, 'x'), 'x']),
    )
    await change(opened, short, { labels })
    await opened.service.stop()
    const lines = (await trailIn(opened.service.folder.path)).filter(
      ({ event }) => event === 'configurations_changed',
    )
    assert.deepEqual(
      lines.map(({ query, query_sha256, changed }) => ({ query, query_sha256, changed })),
      [
        {
          query: query.join('&').slice(0, 1016),
          query_sha256: hash('sha256', query.join('&')),
          changed: { port: 1 },
        },
        { query: short, query_sha256: undefined, changed: undefined },
      ],
    )
  })

  it('is in the audit trail as a whole and record by record, and in events', async (t) => {
    const opened = await open(t)
    await change(opened, 'prefix=a&label=env%3Dprod', { port: 2222, labels: { env: null } })
    await change(opened, 'q=nothing', { port: 1 })
    await opened.ask('DELETE', `${path}?label=env%3Dtest`)
    await eventually('all is listed', async () => {
      const trail = await readFile(join(opened.service.folder.path, 'audit.jsonl'), 'utf8')
      const lines = trail
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
      const wholes = lines.filter(({ event }) => /^configurations_/.test(event))
      if (wholes.length < 3 || !lines.some(({ event }) => event === 'configuration_deleted')) return false
      assert.deepEqual(
        wholes.map(({ event, matched, modified, unchanged, removed, changed, query }) => {
          return { event, matched, modified, unchanged, removed, changed, query }
        }),
        [
          {
            event: 'configurations_changed',
            matched: 3,
            modified: 3,
            unchanged: 0,
            removed: undefined,
            changed: { port: 2222, labels: { env: null } },
            query: 'prefix=a&label=env%3Dprod',
          },
          {
            event: 'configurations_changed',
            matched: 0,
            modified: 0,
            unchanged: 0,
            removed: undefined,
            changed: { port: 1 },
            query: 'q=nothing',
          },
          {
            event: 'configurations_removed',
            matched: 1,
            modified: undefined,
            unchanged: undefined,
            removed: 1,
            changed: undefined,
            query: 'label=env%3Dtest',
          },
        ],
      )
      assert.equal(lines.filter(({ event }) => event === 'configuration_modified').length, 3)
      return true
    })
    const history = await opened.ask('GET', '/v1/history/a2?limit=1')
    assert.match(history.text, /"event":"configuration_modified",.*"port":\{"before":22,"after":2222\}/)
  })

  it('survives a restart, with its lines', async (t) => {
    const opened = await open(t)
    await change(opened, 'label=env', { port: 7 })
    const before = await opened.list()
    const { folder } = opened.service
    await opened.service.stop()
    const service = await start(t, { folder: folder.path })
    const ask = createClient(service.url, { Authorization: await service.bearer() })
    const { text, headers } = await ask('GET', path)
    assert.deepEqual({ text, tag: headers.etag }, before)
  })
})

describe('DELETE /configurations/?FILTERS', () => {
  it('shows what it would remove, and removes all that the filters keep', async (t) => {
    const { ask, list } = await open(t)
    const before = await list()
    const tried = await ask('DELETE', `${path}?label=env%3Dtest&dry_run=1`)
    assert.deepEqual(tried.json(), {
      dry_run: true,
      matched: 1,
      removed: 1,
      changed: [{ name: 'b1', record: { id: 4, ...draft('b1'), labels: { env: 'test' } } }],
    })
    assert.deepEqual(await list(), before)
    const made = await ask('DELETE', `${path}?label=env%3Dprod&label=env%3Dtest`, {
      headers: { 'If-Match': before.tag, Prefer: 'max-affected=4' },
    })
    assert.deepEqual([made.status, made.text], [200, '{"matched":4,"removed":4}'])
    assert.equal(made.headers['preference-applied'], 'max-affected=4')
    assert.equal(made.headers.etag, (await list()).tag)
    assert.deepEqual(namesIn(await ask('GET', path)), ['c'])
    assert.equal((await ask('DELETE', `${path}?name=b1`)).text, '{"matched":0,"removed":0}')
    assert.equal((await ask('DELETE', `${path}?all=1`)).text, '{"matched":1,"removed":1}')
    assert.equal((await ask('DELETE', `${path}?all=1`)).text, '{"matched":0,"removed":0}')
  })
})

describe('a change of many records', async () => {
  const service = await start({ after })
  const ask = createClient(service.url, { Authorization: await service.bearer() })
  const labels = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`k${i}`, '']))
  const rows = Array.from({ length: 1_200 }, (_, i) => ({
    ...draft(`n${i}`),
    ...(i < 150 ? { labels } : {}),
  }))
  assert.equal((await ask('POST', '/v1/import', { body: rows })).status, 200)
  const tag = (await ask('HEAD', path)).headers.etag

  const refused: [
    what: string,
    query: string,
    body: unknown,
    headers: Record<string, string>,
    fields: string[],
  ][] = [
    ['without a filter', '', { port: 1 }, {}, ['all']],
    ['with a misspelt filter alone', 'lable=env', { port: 1 }, {}, ['lable', 'all']],
    ['with a misspelt filter beside a good one', 'port=22&lable=env', { port: 1 }, {}, ['lable']],
    ['with an empty filter', 'name=', { port: 1 }, {}, ['name']],
    ['with a filter given twice', 'q=n&q=n', { port: 1 }, {}, ['q']],
    ['with all beside a filter', 'all=1&q=n', { port: 1 }, {}, ['all']],
    [
      'with all beside sort and pages',
      'all=1&sort=name&page=0&per_page=1',
      { port: 1 },
      {},
      ['sort', 'page', 'per_page'],
    ],
    ['with sort beside a filter', 'q=n&sort=name', { port: 1 }, {}, ['sort']],
    ['with another value of all', 'all=yes', { port: 1 }, {}, ['all']],
    ['with all twice', 'all=1&all=1', { port: 1 }, {}, ['all']],
    ['with another value of dry_run', 'q=n&dry_run=0', { port: 1 }, {}, ['dry_run']],
    ['with an empty dry_run', 'q=n&dry_run', { port: 1 }, {}, ['dry_run']],
    ['with a name', 'q=n', { name: 'x' }, {}, ['name']],
    ['with a name that is null', 'q=n', { name: null }, {}, ['name']],
    ['with a bad body', 'q=n', { port: 0, labels: { A: 'x' }, user: 'x' }, {}, ['port', 'labels.A', 'user']],
    ['with If-None-Match', 'q=n', { port: 1 }, { 'If-None-Match': '*' }, ['If-None-Match']],
    [
      'with faults of all kinds',
      'lable=x&port=0',
      { name: 'x', port: '1' },
      { Prefer: 'max-affected=x' },
      ['lable', 'port', 'Prefer', 'name', 'port'],
    ],
    ...[
      '',
      'x',
      '-1',
      '+1',
      '1.0',
      '1e3',
      '01',
      '0x1',
      '"1',
      '1 2',
      '99999999999999999999',
      '1, max-affected=1',
    ].map((text): (typeof refused)[number] => [
      `with max-affected=${text}`,
      'q=n',
      { port: 1 },
      { Prefer: `max-affected=${text}` },
      ['Prefer'],
    ]),
    ['with max-affected alone', 'q=n', { port: 1 }, { Prefer: 'max-affected' }, ['Prefer']],
  ]
  for (const [what, query, body, headers, fields] of refused) {
    it(`is refused ${what}, and changes nothing`, async () => {
      for (const method of ['PATCH', 'DELETE']) {
        // Only PATCH reads a body.
        const wanted =
          method === 'PATCH' ? fields : fields.filter((field) => !faultsOfBody(body).includes(field))
        if (wanted.length === 0) continue
        const answer = await ask(method, `${path}?${query}`, { body, headers })
        assert.equal(answer.status, 400, answer.text)
        if (method === 'PATCH') assert.deepEqual(faultyFields(answer), fields)
      }
      assert.equal((await ask('HEAD', path)).headers.etag, tag)
    })
  }

  it('is refused with a condition or a body that is not understood', async () => {
    const malformed = { body: { port: 1 }, headers: { 'If-Match': 'x' } }
    const answer = await ask('PATCH', `${path}?q=n`, malformed)
    assert.match(answer.text, /malformed_condition/)
    assert.match((await ask('PATCH', `${path}?q=n`, { body: [] })).text, /not_an_object/)
    assert.equal((await ask('PATCH', `${path}?q=n`, { body: '' })).status, 400)
    assert.equal((await ask('HEAD', path)).headers.etag, tag)
  })

  it('lists the first faults, and the first changes', async () => {
    const invalid = await ask('PATCH', `${path}?q=n`, { body: { labels: { more: '' } } })
    assert.equal(invalid.json<{ errors: unknown[] }>().errors.length, FAULTS_MAX)
    const tried = await ask('PATCH', `${path}?q=n&dry_run=1`, { body: { port: 1 } })
    const { matched, changed } = tried.json<{ matched: number; changed: { name: string }[] }>()
    assert.deepEqual([matched, changed.length, changed.at(-1)?.name], [1_200, CHANGES_SHOWN_MAX, 'n999'])
    assert.equal((await ask('HEAD', path)).headers.etag, tag)
  })

  it('of one record refuses dry_run, which it would ignore', async () => {
    for (const [method, name, body] of [
      ['POST', '', draft('new')],
      ['PUT', 'new', draft('new')],
      ['PATCH', 'n0', { port: 1 }],
      ['DELETE', 'n0', undefined],
    ] as const) {
      for (const query of ['dry_run=1', 'x=1&dry%5Frun']) {
        const answer = await ask(method, `${path}${name}?${query}`, body === undefined ? {} : { body })
        assert.deepEqual([answer.status, faultyFields(answer)], [400, ['dry_run']], method)
      }
    }
    assert.equal((await ask('HEAD', path)).headers.etag, tag)
  })
})

function faultsOfBody(body: unknown): string[] {
  return Object.keys(body as object).flatMap((key) =>
    key === 'labels' ? ['labels.A'] : key === 'port' && (body as { port: unknown }).port === 1 ? [] : [key],
  )
}
