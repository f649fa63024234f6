import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { UNSTREAMED_BYTES_MAX } from '../../src/limits.ts'
import { configurationHandlers } from '../../src/resources/configurations.ts'
import { CountMemory, SEARCH_COUNTS_MAX, SEARCH_RECORDS_MAX } from '../../src/resources/filtered-list.ts'
import { type LongWork, Scheduler } from '../../src/scheduler.ts'
import type { NewConfiguration } from '../../src/store/configuration.ts'
import { createClient, faultyFields, namesIn, ownHeaders } from '../support/http-client.ts'
import { loadStore } from '../support/loaded-store.ts'
import { bodyOf, requestOf } from '../support/message.ts'
import { start } from '../support/service.ts'
import { draft, someone } from '../support/store.ts'

const path = '/configurations/'

describe('a list with filters, over HTTP', async () => {
  const service = await start({ after })
  const ask = createClient(service.url, { Authorization: await service.bearer() })
  const records: NewConfiguration[] = [
    { name: 'web1', hostname: 'web1.example.net', port: 22, username: 'deploy' },
    { name: 'Web2', hostname: 'web2.example.net', port: 2222, username: 'deploy' },
    { name: 'db & <more>', hostname: '192.0.2.7', port: 22, username: 'Postgres' },
    { name: '__proto__', hostname: 'h', port: 65_535, username: 'x' },
    {
      name: 'l1',
      hostname: 'l',
      port: 1,
      username: 'l',
      labels: { tier: 'a=b', constructor: '', group: 'l' },
    },
    { name: 'l2', hostname: 'l', port: 1, username: 'l', labels: { tier: '', 'a/b': 'ü', group: 'l' } },
    draft('g1', { hostname: 'l', port: 7, labels: { group: ' staff , GW,,staff', other: 'x,y' } }),
    draft('g2', { hostname: 'l', port: 7, labels: { group: 'staff', other: 'y' } }),
    draft('g3', { hostname: 'l', port: 7, labels: { group: '' } }),
  ]
  for (const body of records) assert.equal((await ask('POST', path, { body })).status, 200)

  const found: [query: string, names: string[]][] = [
    ['q=WEB', ['web1', 'Web2']],
    ['q=postgres', ['db & <more>']],
    ['q=192.0.2.7', ['db & <more>']],
    ['q=%26+%3Cm', ['db & <more>']],
    ['q=22', []],
    ['q=web.', []],
    ['q=%00', []],
    ['prefix=web', ['web1']],
    ['prefix=__', ['__proto__']],
    ['prefix=__&sort=-name', ['__proto__']],
    ['name=__proto__', ['__proto__']],
    ['name=web', []],
    ['hostname=WEB1.example.net', []],
    ['port=22', ['web1', 'db & <more>']],
    ['port=22&sort=-port', ['web1', 'db & <more>']],
    ['port=22&sort=name', ['db & <more>', 'web1']],
    ['port=22&q=web', ['web1']],
    ['username=deploy&prefix=W&port=2222&q=exam&name=Web2&hostname=web2.example.net', ['Web2']],
    [`q=${'x'.repeat(255)}`, []],
    ['label=tier', ['l1', 'l2']],
    ['label=tier=', ['l2']],
    ['label=tier=a=b', ['l1']],
    ['label=tier%3Da%3Db&label=constructor', ['l1']],
    ['label=a/b=%C3%BC', ['l2']],
    ['label=tier=&label=tier=a=b', ['l1', 'l2']],
    ['label=tier=&label=tier=a=b&label=constructor', ['l1']],
    ['label=tier=none&label=tier', ['l1', 'l2']],
    ['label=tier=none&label=tier=other', []],
    ['label=!group&prefix=l', []],
    ['label=!tier&label=group', ['g1', 'g2', 'g3']],
    ['label=tier!=&port=1', ['l1']],
    ['label=tier!=&prefix=g', ['g1', 'g2', 'g3']],
    ['label=tier!=a=b&label=tier', ['l2']],
    ['label=tier!=a!=b&label=tier', ['l1', 'l2']],
    ['label=tier!=&label=tier!=a=b&label=group', ['g1', 'g2', 'g3']],
    ['label=!hasownproperty&label=!group&name=web1', ['web1']],
    ['label=group=staff', ['g1', 'g2']],
    ['label=group=GW', ['g1']],
    ['label=group=gw', []],
    ['label=group=sta', []],
    ['label=group=+staff+', []],
    ['label=group=+staff+,+GW,,staff', ['g1']],
    ['label=group=staff,GW', []],
    ['label=group=', ['g3']],
    ['label=group!=staff&label=group', ['l1', 'l2', 'g3']],
    ['label=group!=&prefix=g', ['g1', 'g2']],
    ['label=group=GW&label=group=l', ['l1', 'l2', 'g1']],
    ['label=other=y', ['g2']],
    ['label=other!=y&prefix=g', ['g1', 'g3']],
    ['q=STAFF', ['g1', 'g2']],
    ['q=%C3%9C', ['l2']],
    ['q=tier', []],
    ['q=web+22', []],
    ['q=deploy+WEB2', ['Web2']],
    ['q=%09web%C2%A0deploy%0A+net', ['web1', 'Web2']],
    ['q=staff+ops+gw', ['g1']],
    ['q=staff+a=b', []],
    [`q=${Array.from({ length: 16 }, () => 'l').join('+')}`, ['web1', 'Web2', 'l1', 'l2', 'g1', 'g2', 'g3']],
    ['id=1', ['web1']],
    ['id=7,2,7,1,999999999,9007199254740991', ['web1', 'Web2', 'g1']],
    ['id=2,1&sort=-name', ['web1', 'Web2']],
    ['id=1,2%2C3&port=22', ['web1', 'db & <more>']],
    ['id=7,8&label=group=GW&q=g1&name=g1', ['g1']],
    ['label=group=x&label=group=l&label=group=x&sort=-name', ['l2', 'l1']],
    ['label=group&name=l2&prefix=l&q=L&port=1', ['l2']],
    ['label=group&name=web1', []],
    ['label=constructor', ['l1']],
    ['label=hasownproperty', []],
    ['label=tier=A%3Db', []],
    [`label=tier=${'x'.repeat(255)}`, []],
    [Array.from({ length: 32 }, () => 'label=tier').join('&'), ['l1', 'l2']],
    [`q=${encodeURIComponent('😀'.repeat(255))}`, []],
  ]
  for (const [query, names] of found) {
    it(`at ${query.slice(0, 60)} keeps ${names.join(', ') || 'nothing'}`, async () => {
      const answer = await ask('GET', `${path}?${query}`)
      assert.equal(answer.status, 200)
      assert.deepEqual(namesIn(answer), names)
      assert.equal(answer.headers['x-total-count'], String(names.length))
      assert.equal(answer.headers['cache-control'], 'no-cache, private')
      const head = await ask('HEAD', `${path}?${query}`)
      assert.deepEqual([head.status, head.text], [200, ''])
      assert.deepEqual(ownHeaders(head), ownHeaders(answer))
    })
  }

  const faults: [query: string, fields: string[]][] = [
    ['q=', ['q']],
    ['prefix', ['prefix']],
    ['name=&hostname=&port=&username=', ['name', 'hostname', 'port', 'username']],
    [`q=${'x'.repeat(256)}`, ['q']],
    [`prefix=${encodeURIComponent('😀'.repeat(256))}`, ['prefix']],
    ['port=0', ['port']],
    ['port=65536', ['port']],
    ['port=022', ['port']],
    ['port=%2B22', ['port']],
    ['port=22.0', ['port']],
    ['port=2e1', ['port']],
    ['port=ssh', ['port']],
    ['q=a&q=b', ['q']],
    ['label=', ['label']],
    ['label', ['label']],
    ['label==x', ['label']],
    ['label=Env', ['label']],
    ['label=__proto__', ['label']],
    ['label=toString', ['label']],
    ['label=a.', ['label']],
    ['label=a%20=b', ['label']],
    [`label=${'a'.repeat(64)}`, ['label']],
    [`label=${'%F0%9F%98%80'.repeat(200)}`, ['label']],
    [`label=a=${'x'.repeat(256)}`, ['label']],
    ['label=a=%00', ['label']],
    ['label=a=%C2%85', ['label']],
    ['label=a&label=B&label=c=%0A', ['label', 'label']],
    [Array.from({ length: 33 }, () => 'label=A').join('&'), ['label']],
    ['port=22&port=22', ['port']],
    ['Q=a', ['Q']],
    ['id=', ['id']],
    ['id=0', ['id']],
    ['id=01', ['id']],
    ['id=1,', ['id']],
    ['id=,1', ['id']],
    ['id=1,,2', ['id']],
    ['id=1;2', ['id']],
    ['id=1+', ['id']],
    ['id=-1', ['id']],
    ['id=1e3', ['id']],
    ['id=9007199254740992', ['id']],
    ['id=x', ['id']],
    ['id=1&id=2', ['id']],
    [`id=${Array.from({ length: 1001 }, (_, i) => i + 1).join(',')}`, ['id']],
    ['q=+', ['q']],
    ['q=%09%C2%A0%0A', ['q']],
    [`q=${Array.from({ length: 17 }, () => 'l').join('+')}`, ['q']],
    ['label=!', ['label']],
    ['label=!a=b', ['label']],
    ['label=!!a', ['label']],
    ['label=!=a', ['label']],
    ['label=!A', ['label']],
    ['label=a!', ['label']],
    ['label=A!=b', ['label']],
    ['label=a!=%00', ['label']],
    ['lable=env&label=env', ['lable']],
    ['q=&sort=x&page=0&port=x', ['q', 'port', 'sort', 'per_page']],
  ]
  for (const [query, fields] of faults) {
    it(`at ${query.slice(0, 60)} is refused with 400 that names ${fields}`, async () => {
      const answer = await ask('GET', `${path}?${query}`)
      assert.equal(answer.status, 400)
      assert.deepEqual(faultyFields(answer), fields)
    })
  }

  it('says which label is at fault, and shows no more than the start of a long one', async () => {
    const at = async (query: string) => {
      const answer = await ask('GET', `${path}?${query}`)
      return answer.json<{ errors: { detail: string }[] }>().errors.map(({ detail }) => detail)
    }
    const [key, value] = await at('label=ok&label=Env=1&label=env=%00')
    assert.match(key ?? '', /^the key "Env" is not a label: a key is 1 to 63 of /)
    assert.equal(value, 'the value of "env" must not hold control characters')
    const [negative] = await at('label=!env=prod')
    assert.equal(negative, 'must be KEY, KEY=VALUE, !KEY or KEY!=VALUE, not "!env=prod"')
    const [long] = await at(`label=${'Z'.repeat(1000)}`)
    assert.match(long ?? '', /^the key "Z{64}…" is not a label/)
    assert.deepEqual(await at(Array.from({ length: 33 }, () => 'label=a').join('&')), [
      'must not be given more than 32 times',
    ])
  })

  it('has links that keep every label, in their order', async () => {
    const answer = await ask('GET', `${path}?label=group%3Dl&page=0&label=tier=&per_page=1&q=l&label=group`)
    const kept = 'q=l&label=group%3Dl&label=tier%3D&label=group'
    const [first] = String(answer.headers.link).split(',')
    assert.equal(first, `<${path}?${kept}&page=0&per_page=1>; rel="first"`)
    const followed = await ask('GET', /<([^>]*)>/.exec(first ?? '')?.[1] ?? '')
    assert.deepEqual(namesIn(followed), ['l2'])
  })

  it('has links that keep ids and negative forms', async () => {
    const answer = await ask('GET', `${path}?label=!a&id=9,7&page=0&per_page=1&label=group!%3D&q=g++staff`)
    const kept = 'q=g%20%20staff&id=7,9&label=!a&label=group!%3D'
    const [first] = String(answer.headers.link).split(',<')
    assert.match(String(answer.headers.link), /^<[^>]+>; rel="first"/)
    assert.equal(/<([^>]*)>/.exec(first ?? '')?.[1], `${path}?${kept}&page=0&per_page=1`)
  })

  it('has links that keep every parameter', async () => {
    const answer = await ask(
      'GET',
      `${path}?per_page=1&sort=-name&q=E%26x%3E%22&port=22&page=0&username=%C3%BC+`,
    )
    const kept = 'q=E%26x%3E%22&port=22&username=%C3%BC%20&sort=-name'
    assert.equal(
      answer.headers.link,
      `<${path}?${kept}&page=0&per_page=1>; rel="first", <${path}?${kept}&page=0&per_page=1>; rel="last"`,
    )
    const names: string[] = []
    for (let next: string | undefined = `${path}?q=E&page=0&per_page=1`; next !== undefined; ) {
      const page = await ask('GET', next)
      names.push(...namesIn(page))
      next = /<([^>]*)>; rel="next"/.exec(String(page.headers.link))?.[1]
    }
    assert.deepEqual(names, ['web1', 'Web2', 'db & <more>'])
  })

  for (const query of [
    'q=web&page=0&per_page=1',
    'port=22&page=0&per_page=1',
    'name=web1',
    'q=e&sort=port',
    'label=tier&page=0&per_page=1',
  ]) {
    it(`at ${query} is 304 with the same headers until a record changes, also without a body`, async () => {
      const first = await ask('GET', `${path}?${query}`)
      const etag = String(first.headers.etag)
      for (const method of ['GET', 'HEAD']) {
        const unchanged = await ask(method, `${path}?${query}`, { headers: { 'If-None-Match': etag } })
        assert.deepEqual([unchanged.status, unchanged.text], [304, ''])
        for (const name of ['etag', 'x-total-count', 'link', 'cache-control'])
          assert.equal(unchanged.headers[name], first.headers[name], name)
      }
      const stale = await ask('GET', `${path}?${query}`, { headers: { 'If-Match': '"other"' } })
      assert.equal(stale.status, 412)
      const added = { name: `e-${query}`, hostname: 'h', port: 80, username: 'u' }
      assert.equal((await ask('POST', path, { body: added })).status, 200)
      const again = await ask('GET', `${path}?${query}`, { headers: { 'If-None-Match': etag } })
      assert.equal(again.status, 200)
      assert.notEqual(again.headers.etag, etag)
      assert.equal((await ask('DELETE', path + encodeURIComponent(added.name))).status, 209)
    })
  }

  it('is not taken for another one when pages are asked for again and again', async () => {
    const pages = ['', 'q=web&', 'prefix=_&', 'q=postgres&', 'port=22&', 'port=2222&', 'name=web1&'].map(
      (filter) => `${path}?${filter}page=0&per_page=100`,
    )
    const first = await Promise.all(pages.map((page) => ask('GET', page)))
    assert.equal(new Set(first.map(({ text }) => text)).size, pages.length)
    for (let time = 1; time <= 3; time++) {
      const again = await Promise.all(pages.map((page) => ask('GET', page)))
      assert.deepEqual(
        again.map(({ text }) => text),
        first.map(({ text }) => text),
      )
    }
  })
})

describe('a long list with filters', async () => {
  const service = await start({ after })
  const ask = createClient(service.url, { Authorization: await service.bearer() })
  const rows = Array.from(
    { length: SEARCH_RECORDS_MAX + 2_000 },
    (_, i) => `n${i},h${i % 2}.example,22,ü${i % 3}`,
  )
  const body = ['name,hostname,port,username', ...rows].join('\n')
  const imported = await ask('POST', '/v1/import?format=csv', {
    body,
    headers: { 'Content-Type': 'text/csv' },
  })
  assert.equal(imported.status, 200)

  for (const [query, count] of [
    ['q=%C3%9C', 12_000],
    ['q=%C3%9C&sort=-hostname', 12_000],
    ['q=h1.', 6_000],
    ['port=22', 12_000],
    ['prefix=n&sort=name', 12_000],
    ['username=%C3%BC0', 4_000],
    ['q=n1199', 11],
  ] as const) {
    it(`at ${query} has all ${count} records`, async () => {
      const answer = await ask('GET', `${path}?${query}`)
      assert.equal(answer.status, 200)
      assert.equal(new Set(namesIn(answer)).size, count)
      assert.equal(answer.headers['x-total-count'], String(count))
      const isLong = Buffer.byteLength(answer.text) > UNSTREAMED_BYTES_MAX
      assert.equal(answer.headers['transfer-encoding'], isLong ? 'chunked' : undefined)
    })
  }
})

describe('a search', () => {
  const drafts = Array.from({ length: 5_000 }, (_, i) => draft(`n${i}`))

  /** Gives way at every step, and counts those of all works. */
  class CountingScheduler extends Scheduler {
    steps = 0
    onStep = () => {}

    constructor() {
      super(0)
    }

    override run<Result>(caller: string, work: LongWork<Result>, signal?: AbortSignal): Promise<Result> {
      return super.run(caller, this.#counted(work), signal)
    }

    *#counted<Result>(work: LongWork<Result>): LongWork<Result> {
      for (;;) {
        const { done, value } = work.next()
        this.steps += 1
        if (done) return value
        this.onStep()
        yield
      }
    }
  }

  function search(query: string, signal = new AbortController().signal) {
    const scheduler = new CountingScheduler()
    const store = loadStore(drafts, scheduler)
    const { list } = configurationHandlers(store, '', scheduler)
    return { scheduler, store, list, reply: list({ ...requestOf({}, '', query), signal }) }
  }

  it('looks at few records in each step', async () => {
    const { scheduler, reply } = search('q=n49')
    assert.equal((await reply).status, 200)
    assert.ok(scheduler.steps >= drafts.length / 128, `${scheduler.steps} steps`)
  })

  it('stops after the step in which its client goes', async () => {
    const client = new AbortController()
    const { scheduler, reply } = search('q=n49', client.signal)
    scheduler.onStep = () => {
      if (scheduler.steps === 3) client.abort(new Error('The client has gone'))
    }
    await assert.rejects(async () => reply, /The client has gone/)
    for (let turn = 1; turn <= 20; turn++) await new Promise((resolve) => setImmediate(resolve))
    assert.equal(scheduler.steps, 3)
  })

  it('does not begin if its client has gone', async () => {
    const { scheduler, reply } = search('q=n49', AbortSignal.abort(new Error('The client has gone')))
    await assert.rejects(async () => reply, /The client has gone/)
    assert.equal(scheduler.steps, 0)
  })

  it('shows one moment, whatever changes while it looks', async () => {
    const { scheduler, store, reply } = search('q=N')
    const before = `"${store.id.slice(0, 8)}-${store.revision}"`
    scheduler.onStep = () => {
      if (scheduler.steps !== 3) return
      void store.remove(someone, 'n1')
      void store.remove(someone, 'n4999')
      void store.add(someone, draft('n-new'))
    }
    const { headers, ...rest } = await reply
    assert.deepEqual([headers['X-Total-Count'], headers.ETag], ['5000', before])
    const { configurations } = JSON.parse(bodyOf({ headers, ...rest })) as { configurations: unknown[] }
    assert.equal(configurations.length, 5_000)
    assert.notEqual(store.revision, drafts.length)
  })

  it('does not look again for a 304, and on the next page not beyond its end', async () => {
    const { scheduler, list, reply } = search('q=n&page=0&per_page=10')
    const { headers } = await reply
    scheduler.steps = 0
    const unchanged = list(requestOf({ 'if-none-match': headers.ETag }, '', 'q=n&page=2&per_page=10'))
    assert.ok(!(unchanged instanceof Promise))
    assert.deepEqual(
      [unchanged.status, unchanged.headers['X-Total-Count'], scheduler.steps],
      [304, '5000', 0],
    )
    const next = await list(requestOf({}, '', 'q=n&page=1&per_page=10'))
    assert.match(bodyOf(next), /^\{"configurations":\[\{"id":11,.*"id":20,[^{]*\}\]\}$/)
    assert.equal(next.headers['X-Total-Count'], '5000')
    assert.equal(scheduler.steps, 1)
  })
})

describe('the memory of counts', () => {
  it('keeps a count until a record changes', () => {
    const memory = new CountMemory()
    memory.add('q=a', 't7', 0)
    memory.add('q=b', 't7', 3)
    assert.deepEqual(
      [memory.find('q=a', 't7'), memory.find('q=b', 't7'), memory.find('q=c', 't7')],
      [0, 3, undefined],
    )
    assert.equal(memory.find('q=a', 't8'), undefined)
    memory.add('q=c', 't8', 1)
    assert.deepEqual([memory.find('q=a', 't8'), memory.find('q=c', 't8')], [undefined, 1])
  })

  it('forgets the oldest count first', () => {
    const memory = new CountMemory()
    for (let i = 0; i < SEARCH_COUNTS_MAX; i++) memory.add(`${i}`, 't1', i)
    memory.add('0', 't1', 0)
    memory.add('new', 't1', 5)
    assert.deepEqual(
      ['0', '1', '2', 'new'].map((search) => memory.find(search, 't1')),
      [0, undefined, 2, 5],
    )
  })
})
