import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { UNSTREAMED_BYTES_MAX } from '../../src/limits.ts'
import { configurationHandlers } from '../../src/resources/configurations.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { SORTED_AT_ONCE_RECORDS_MAX } from '../../src/store/configuration-index.ts'
import { createClient, faultyFields, namesIn, ownHeaders, recordsIn } from '../support/http-client.ts'
import { requestOf } from '../support/message.ts'
import { start } from '../support/service.ts'
import { draft, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const path = '/configurations/'

describe('the list', async () => {
  const service = await start({ after })
  const ask = createClient(service.url, { Authorization: await service.bearer() })

  it('without records is empty', async () => {
    const answer = await ask('GET', path)
    assert.deepEqual([answer.status, answer.text], [200, '{"configurations":[]}'])
    assert.equal(answer.headers['x-total-count'], '0')
    const page = await ask('GET', `${path}?page=0&per_page=10`)
    assert.deepEqual([page.status, page.text], [200, answer.text])
  })

  // In UTF-16 code units a letter outside the basic plane comes before U+FF61, in code points after it.
  const records = [
    { name: 'b', hostname: 'h2', port: 9, username: 'x' },
    { name: 'B', hostname: 'h1', port: 10, username: 'x' },
    { name: '\uff61', hostname: 'h3', port: 80, username: 'Y' },
    { name: 'a', hostname: 'h2', port: 9, username: 'y' },
    { name: '😀', hostname: 'h1', port: 8080, username: 'X' },
  ]
  it('holds the added records, by id', async () => {
    for (const body of records) assert.equal((await ask('POST', path, { body })).status, 200)
    const answer = await ask('GET', path)
    assert.equal(answer.status, 200)
    assert.deepEqual(
      recordsIn(answer),
      records.map((record, i) => ({ id: i + 1, ...record })),
    )
    assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
    assert.equal(answer.headers['content-length'], String(Buffer.byteLength(answer.text)))
    assert.equal(answer.headers['cache-control'], 'no-cache, private')
    assert.equal(answer.headers['x-total-count'], '5')
    assert.equal(answer.headers.link, undefined)
    assert.equal((await ask('GET', '/configurations')).text, answer.text)
  })

  const orders: [sort: string, ids: number[]][] = [
    ['name', [2, 4, 1, 5, 3]],
    ['-name', [3, 5, 1, 4, 2]],
    ['hostname', [2, 5, 1, 4, 3]],
    ['-hostname', [3, 1, 4, 2, 5]],
    ['port', [1, 4, 2, 3, 5]],
    ['-port', [5, 3, 2, 1, 4]],
    ['username', [5, 3, 1, 2, 4]],
    ['-username', [4, 1, 2, 3, 5]],
  ]
  const idsIn = async (query: string) => recordsIn(await ask('GET', `${path}?${query}`)).map(({ id }) => id)
  for (const [sort, ids] of orders) {
    it(`by ${sort} is in order, also page by page`, async () => {
      assert.deepEqual(await idsIn(`sort=${sort}`), ids)
      assert.deepEqual(await idsIn(`sort=${sort}&page=1&per_page=2`), ids.slice(2, 4))
    })
  }

  const pages: [query: string, ids: number[], links: Record<string, number>][] = [
    ['page=0&per_page=2', [1, 2], { first: 0, next: 1, last: 2 }],
    ['page=1&per_page=2', [3, 4], { first: 0, prev: 0, next: 2, last: 2 }],
    ['per_page=2&page=2', [5], { first: 0, prev: 1, last: 2 }],
    ['page=0&per_page=5', [1, 2, 3, 4, 5], { first: 0, last: 0 }],
    ['page=0&per_page=100', [1, 2, 3, 4, 5], { first: 0, last: 0 }],
    ['page=3&per_page=2', [], { first: 0, prev: 2, last: 2 }],
    ['p%61ge=%30&per%5Fpage=1', [1], { first: 0, next: 1, last: 4 }],
    [`page=${Number.MAX_SAFE_INTEGER}&per_page=100`, [], { first: 0, prev: 0, last: 0 }],
  ]
  for (const [query, ids, links] of pages) {
    it(`at ${query} is a page with links`, async () => {
      const answer = await ask('GET', `${path}?${query}`)
      assert.equal(answer.status, 200)
      assert.deepEqual(
        recordsIn(answer).map(({ id }) => id),
        ids,
      )
      assert.equal(answer.headers['x-total-count'], '5')
      const perPage = /per(?:_|%5F)page=(\d+)/.exec(query)?.[1]
      const expected = Object.entries(links).map(
        ([rel, page]) => `<${path}?page=${page}&per_page=${perPage}>; rel="${rel}"`,
      )
      assert.equal(answer.headers.link, expected.join(', '))
    })
  }

  it('has links that keep the order and reach every page', async () => {
    const ids: number[] = []
    for (let next: string | undefined = `${path}?per_page=2&sort=-port&page=0`; next !== undefined; ) {
      const answer = await ask('GET', next)
      ids.push(...recordsIn(answer).map(({ id }) => id))
      next = /<([^>]*)>; rel="next"/.exec(String(answer.headers.link))?.[1]
      assert.ok(next === undefined || next.includes('sort=-port'))
    }
    assert.deepEqual(ids, [5, 3, 2, 1, 4])
  })

  const faults: [query: string, fields: string[]][] = [
    ['page=0', ['per_page']],
    ['per_page=10', ['page']],
    ['page=&per_page=', ['page', 'per_page']],
    ['page=0&per_page=0', ['per_page']],
    ['page=0&per_page=101', ['per_page']],
    ['page=-1&per_page=1', ['page']],
    ['page=%2B1&per_page=1', ['page']],
    ['page=+1&per_page=1', ['page']],
    ['page=01&per_page=1', ['page']],
    ['page=0&per_page=010', ['per_page']],
    ['page=1.0&per_page=1e1', ['page', 'per_page']],
    ['page=0x1&per_page=1', ['page']],
    ['page=٣&per_page=1'.replace('٣', encodeURIComponent('٣')), ['page']],
    ['page=9007199254740992&per_page=1', ['page']],
    ['page=0&per_page=99999999999999999999', ['per_page']],
    ['page=a', ['page', 'per_page']],
    ['sort=', ['sort']],
    ['sort=id', ['sort']],
    ['sort=Name', ['sort']],
    ['sort=--name', ['sort']],
    ['sort=name-', ['sort']],
    ['sort=name,port', ['sort']],
    ['sort=__proto__', ['sort']],
    ['sort=name&sort=name', ['sort']],
    ['page=0&page=0&per_page=1', ['page']],
    ['order=asc', ['order']],
    ['Sort=name', ['Sort']],
    ['__proto__=1', ['__proto__']],
    ['=', ['']],
    ['x=1&sort=y&page=z&per_page=0', ['x', 'sort', 'page', 'per_page']],
  ]
  for (const [query, fields] of faults) {
    it(`at ${query} is refused with 400 that names ${fields}`, async () => {
      const answer = await ask('GET', `${path}?${query}`)
      assert.equal(answer.status, 400)
      assert.deepEqual(faultyFields(answer), fields)
    })
  }

  it('at a query that is not UTF-8 is refused with 400', async () => {
    for (const query of ['sort=%ff', '%=1', 'page=%c3&per_page=1']) {
      assert.equal((await ask('GET', `${path}?${query}`)).status, 400)
    }
  })

  it('ignores an empty query and empty pairs', async () => {
    for (const query of ['?', '?&', '?&sort=name&'])
      assert.equal((await ask('GET', path + query)).status, 200)
  })

  it('is the only route here that reads its query', async () => {
    const body = { name: 'query', hostname: 'h', port: 1, username: 'u' }
    assert.equal((await ask('POST', `${path}?sort=x&page=%ff`, { body })).status, 200)
    assert.equal((await ask('GET', `${path}query?page=1&x`)).status, 200)
    assert.equal((await ask('PATCH', `${path}query?%`, { body: {} })).status, 200)
    assert.equal((await ask('DELETE', `${path}query??`)).status, 209)
    assert.equal((await ask('GET', '/healthz?page')).status, 200)
  })

  it('answers HEAD with the headers of GET', async () => {
    const { headers: got } = await ask('GET', `${path}?page=0&per_page=2`)
    const head = await ask('HEAD', `${path}?page=0&per_page=2`)
    assert.deepEqual([head.status, head.text], [200, ''])
    assert.deepEqual(ownHeaders(head), ownHeaders({ headers: got }))
  })
})

describe('a long list', async () => {
  const service = await start({ after })
  const ask = createClient(service.url, { Authorization: await service.bearer() })
  const names = Array.from({ length: 450 }, (_, i) => `é"${i}`.padEnd(200, 'ü'))
  for (let i = 0; i < names.length; i += 50) {
    const adds = names.slice(i, i + 50).map((name) => ({ name, hostname: 'h', port: 1, username: 'ü' }))
    await Promise.all(adds.map((body) => ask('POST', path, { body })))
  }

  it('arrives complete, with its length, in any order', async () => {
    const all = await ask('GET', path)
    assert.equal(all.status, 200)
    const bytes = Buffer.byteLength(all.text)
    assert.ok(bytes > UNSTREAMED_BYTES_MAX)
    assert.equal(all.headers['content-length'], String(bytes))
    assert.equal(all.headers['x-total-count'], String(names.length))
    assert.deepEqual(namesIn(all).sort(), [...names].sort())
    const sorted = await ask('GET', `${path}?sort=-name`)
    assert.equal(sorted.headers['content-length'], all.headers['content-length'])
    assert.deepEqual(namesIn(sorted), [...names].sort().reverse())
  })

  it('has long pages that arrive complete, with their length, again and again', async () => {
    const long = names
      .slice(0, 100)
      .map((name, i) => ({ name: name.slice(0, -3), hostname: 'h', port: 1 + i, username: '😀'.repeat(120) }))
    await Promise.all(long.map((body) => ask('POST', path, { body })))
    const query = `${path}?sort=-username&page=0&per_page=100`
    for (let i = 0; i < 3; i += 1) {
      const { text, headers } = await ask('GET', query)
      const bytes = Buffer.byteLength(text)
      assert.ok(bytes > UNSTREAMED_BYTES_MAX, `${bytes} bytes`)
      assert.equal(headers['content-length'], String(bytes))
      assert.equal(JSON.parse(text).configurations.length, 100)
    }
    await Promise.all(long.map(({ name }) => ask('DELETE', `${path}${encodeURIComponent(name)}`)))
  })

  it('is the same text as its pages', async () => {
    const whole = (await ask('GET', path)).text
    const pages: string[] = []
    for (let page = 0; page * 100 < names.length; page++) {
      const { text } = await ask('GET', `${path}?page=${page}&per_page=100`)
      pages.push(text.slice('{"configurations":['.length, -']}'.length))
    }
    assert.equal(`{"configurations":[${pages.join(',')}]}`, whole)
  })

  it('answers HEAD and conditions like a short one', async () => {
    const { headers: got } = await ask('GET', path)
    const head = await ask('HEAD', path)
    assert.deepEqual([head.status, head.text], [200, ''])
    assert.deepEqual(ownHeaders(head), ownHeaders({ headers: got }))
    const unchanged = await ask('GET', path, { headers: { 'If-None-Match': got.etag ?? '' } })
    assert.deepEqual([unchanged.status, unchanged.text], [304, ''])
  })
})

describe('a page that is asked for again and again', async () => {
  const service = await start({ after })
  const ask = createClient(service.url, { Authorization: await service.bearer() })
  const page = `${path}?sort=name&page=0&per_page=2`
  const add = (name: string) => ask('POST', path, { body: { name, hostname: 'h', port: 1, username: 'ü' } })
  for (const name of ['b', 'c', 'd']) await add(name)

  it('is the same to the byte, for GET and HEAD', async () => {
    const first = await ask('GET', page)
    assert.deepEqual(namesIn(first), ['b', 'c'])
    assert.equal(first.headers['content-length'], String(Buffer.byteLength(first.text)))
    for (let time = 2; time <= 4; time++) {
      const again = await ask('GET', page)
      assert.deepEqual([again.status, again.text], [200, first.text])
      assert.deepEqual(ownHeaders(again), ownHeaders(first))
    }
    const head = await ask('HEAD', page)
    assert.deepEqual([head.status, head.text], [200, ''])
    assert.deepEqual(ownHeaders(head), ownHeaders(first))
  })

  it('still takes conditions', async () => {
    const { etag = '' } = (await ask('GET', page)).headers
    const statusIf = async (condition: Record<string, string>) =>
      (await ask('GET', page, { headers: condition })).status
    assert.equal(await statusIf({ 'If-None-Match': etag }), 304)
    assert.equal(await statusIf({ 'If-None-Match': '"other"' }), 200)
    assert.equal(await statusIf({ 'If-Match': etag }), 200)
    assert.equal(await statusIf({ 'If-Match': '"other"' }), 412)
  })

  it('shows each change at once, also in its links and its tag', async () => {
    const before = await ask('GET', page)
    await add('a')
    await add('e')
    for (let time = 1; time <= 3; time++) {
      const after = await ask('GET', page)
      assert.deepEqual(namesIn(after), ['a', 'b'])
      assert.equal(after.headers['x-total-count'], '5')
      assert.match(String(after.headers.link), /page=2&per_page=2>; rel="last"/)
      assert.notEqual(after.headers.etag, before.headers.etag)
    }
    assert.equal((await ask('PATCH', `${path}b`, { body: { name: 'B' } })).status, 200)
    assert.deepEqual(namesIn(await ask('GET', page)), ['B', 'a'])
    await ask('DELETE', `${path}B`)
    assert.deepEqual(namesIn(await ask('GET', page)), ['a', 'c'])
  })
})

describe('a list of many records', () => {
  it('waits only for the first use of an order', async (t) => {
    const { store } = await openStore(t, await temporaryFolder(t))
    const drafts = Array.from({ length: SORTED_AT_ONCE_RECORDS_MAX + 1 }, (_, i) => draft(`n${i}`))
    await store.importAll(someone, drafts, 'merge')
    const { list } = configurationHandlers(store, '', new Scheduler())
    const ask = () => list(requestOf({}, '', 'sort=-name&page=0&per_page=1'))
    const first = ask()
    assert.ok(first instanceof Promise)
    const reply = await first
    assert.equal(reply.status, 200)
    assert.match(String(reply.body), /"name":"n999"/)
    assert.deepEqual(ask(), reply)
    assert.ok(!(list(requestOf({}, '', 'page=0&per_page=1')) instanceof Promise))
  })
})
