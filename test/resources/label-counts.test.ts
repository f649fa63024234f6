import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { labelCountHandlers } from '../../src/resources/label-counts.ts'
import { type LongWork, Scheduler } from '../../src/scheduler.ts'
import { createClient, faultyFields, ownHeaders } from '../support/http-client.ts'
import { loadStore } from '../support/loaded-store.ts'
import { bodyOf, requestOf } from '../support/message.ts'
import { start } from '../support/service.ts'
import { draft } from '../support/store.ts'

const path = '/v1/labels'

describe('GET /v1/labels', async () => {
  const service = await start({ after })
  const ask = createClient(service.url, { Authorization: await service.bearer() })
  const all = [
    draft('a', { labels: { env: 'prod', group: 'web, db' } }),
    draft('b', { labels: { env: 'test', group: 'db' } }),
    draft('c'),
  ]
  for (const body of all) assert.equal((await ask('POST', '/configurations/', { body })).status, 200)

  it('counts keys and values of all records', async () => {
    const answer = await ask('GET', path)
    assert.equal(answer.status, 200)
    assert.equal(
      answer.text,
      '{"labels":[{"key":"env","count":2,"values":[{"value":"prod","count":1},{"value":"test","count":1}],"more":0},' +
        '{"key":"group","count":2,"values":[{"value":"db","count":2},{"value":"web","count":1}],"more":0}],"more":0}',
    )
    assert.equal(answer.headers['cache-control'], 'no-cache, private')
    const head = await ask('HEAD', path)
    assert.deepEqual([head.status, head.text], [200, ''])
    assert.deepEqual(ownHeaders(head), ownHeaders(answer))
  })

  it('counts those that the filters keep', async () => {
    const keysOf = async (query: string) => {
      const answer = await ask('GET', `${path}?${query}`)
      assert.equal(answer.status, 200)
      return answer
        .json<{ labels: { key: string; values: { value: string }[] }[] }>()
        .labels.map(({ key, values }) => `${key} ${values.map(({ value }) => value)}`)
    }
    assert.deepEqual(await keysOf('label=group=web'), ['env prod', 'group db,web'])
    assert.deepEqual(await keysOf('q=TEST'), ['env test', 'group db'])
    assert.deepEqual(await keysOf('id=2,3'), ['env test', 'group db'])
    assert.deepEqual(await keysOf('name=c'), [])
  })

  it('has the tag of the list, and is 304 until a record changes', async () => {
    const { headers } = await ask('GET', path)
    assert.equal((await ask('HEAD', '/configurations/')).headers.etag, headers.etag)
    const conditional = { headers: { 'If-None-Match': String(headers.etag) } }
    const unchanged = await ask('GET', path, conditional)
    assert.deepEqual([unchanged.status, unchanged.text, unchanged.headers.etag], [304, '', headers.etag])
    assert.equal((await ask('GET', path, { headers: { 'If-Match': '"x"' } })).status, 412)
    assert.equal((await ask('PATCH', '/configurations/c', { body: { labels: { x: '' } } })).status, 200)
    const later = await ask('GET', path, conditional)
    assert.equal(later.status, 200)
    assert.match(later.text, /\{"key":"x","count":1,/)
    assert.notEqual(later.headers.etag, headers.etag)
  })

  for (const [query, fields] of [
    ['sort=name', ['sort']],
    ['page=0&per_page=1', ['page', 'per_page']],
    ['lable=env&label=env', ['lable']],
    ['q=+&q=a', ['q']],
    ['label=&id=', ['id', 'label']],
    ['key=env', ['key']],
  ] as const) {
    it(`refuses ${query} with 400`, async () => {
      const answer = await ask('GET', `${path}?${query}`)
      assert.deepEqual([answer.status, faultyFields(answer)], [400, fields])
    })
  }

  it('is 403 without a credential', async () => {
    assert.equal((await createClient(service.url, {})('GET', path)).status, 403)
  })
})

describe('counting labels', () => {
  it('looks in steps, once for all who ask, and not again until a record changes', async () => {
    const drafts = Array.from({ length: 2_000 }, (_, i) => draft(`n${i}`, { labels: { i: String(i) } }))
    let steps = 0
    class CountingScheduler extends Scheduler {
      override run<Result>(caller: string, work: LongWork<Result>, signal?: AbortSignal): Promise<Result> {
        return super.run(caller, counted(work), signal)
      }
    }
    function* counted<Result>(work: LongWork<Result>): LongWork<Result> {
      for (;;) {
        const { done, value } = work.next()
        steps += 1
        if (done) return value
        yield
      }
    }
    const scheduler = new CountingScheduler()
    const { list } = labelCountHandlers(loadStore(drafts, scheduler), scheduler)
    const first = Promise.all([list(requestOf({}, '', '')), list(requestOf({}, '', ''))])
    const [one, other] = (await first).map(bodyOf)
    assert.equal(one, other)
    assert.match(one ?? '', /^\{"labels":\[\{"key":"i","count":2000,.*\],"more":1900\}\],"more":0\}$/)
    const looked = steps
    assert.ok(looked >= drafts.length / 128 && looked < drafts.length / 4, `${looked} steps`)
    assert.ok(!(list(requestOf({}, '', '')) instanceof Promise))
    assert.equal(steps, looked)
  })

  it('is refused with what to do when there are far more values than there is memory for', async () => {
    const drafts = Array.from({ length: 500 }, (_, i) => draft(`n${i}`, { labels: { i: String(i) } }))
    const scheduler = new Scheduler()
    const { list } = labelCountHandlers(loadStore(drafts, scheduler), scheduler, 4)
    await assert.rejects(async () => list(requestOf({}, '', '')), {
      code: 'answer_too_large',
      message: /^Cannot count the labels: .* narrow the filters, or give connbook more memory$/,
    })
    assert.match(bodyOf(await list(requestOf({}, '', 'prefix=n7'))), /"key":"i","count":11,/)
  })

  it('stops when its client has gone, and lets the next one count', async () => {
    const scheduler = new Scheduler()
    const { list } = labelCountHandlers(loadStore([draft('a', { labels: { x: '' } })], scheduler), scheduler)
    const gone = { ...requestOf({}, '', ''), signal: AbortSignal.abort(new Error('The client has gone')) }
    await assert.rejects(async () => list(gone), /The client has gone/)
    assert.match(bodyOf(await list(requestOf({}, '', ''))), /"key":"x"/)
  })
})
