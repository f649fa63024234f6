import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTo } from 'node:net'
import { describe, it } from 'node:test'
import { RECOVERY_PAUSE_MS_MIN } from '../../src/journal/recovery-loop.ts'
import { EVENTS_PAUSE_MS, WAITING_CALLS_LOOK_MS } from '../../src/limits.ts'
import { HALF_CLOSED_PROBE_MS } from '../../src/server/incoming-request.ts'
import { REFUSAL_PAUSE_MS } from '../../src/server/request-order.ts'
import { eventsIn, readEvents } from '../support/event-reader.ts'
import { eventually } from '../support/eventually.ts'
import { createFailingFiles, failOn } from '../support/failing-files.ts'
import { holdClock } from '../support/held-clock.ts'
import { holdTimers, passTimeUntil } from '../support/held-timers.ts'
import { createClient, recordsIn } from '../support/http-client.ts'
import { formatRequest } from '../support/raw-http.ts'
import { start, type TestService } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function connect(service: TestService) {
  const headers = { Authorization: await service.bearer() }
  const ask = createClient(service.url, headers)
  const add = (name: string, port = 22) => ask('POST', '/configurations/', { body: draft(name, { port }) })
  const tag = async () => String((await ask('HEAD', '/configurations/')).headers.etag).slice(1, -1)
  const importAll = (names: readonly string[], port = 22) =>
    ask('POST', '/v1/import', { body: names.map((name) => draft(name, { port })) })
  return { headers, ask, add, tag, importAll }
}

describe('GET /v1/events', () => {
  it('sends each change once, in order, with the tag of the list as its id', async (t) => {
    const service = await start(t)
    const { headers, ask, add, tag } = await connect(service)
    const before = await tag()
    const reader = await readEvents(t, service.url, headers)
    assert.equal(reader.status, 200)
    assert.equal(reader.headers['content-type'], 'text/event-stream')
    assert.equal(reader.headers['cache-control'], 'no-store')
    assert.equal(reader.headers['x-accel-buffering'], 'no')
    await reader.until('\n\n')
    assert.equal(reader.text(), `retry: 2000\nid: ${before}\n\n`)

    await add('a')
    const tags = [await tag()]
    await ask('PATCH', '/configurations/a', { body: { name: 'b', port: 23 } })
    tags.push(await tag())
    await ask('DELETE', '/configurations/b')
    tags.push(await tag())
    const a = { id: 1, ...draft('a') }
    const b = { id: 1, ...draft('b', { port: 23 }) }
    assert.deepEqual(await reader.take(3), [
      { event: 'added', id: tags[0], data: { configuration: a } },
      { event: 'modified', id: tags[1], data: { configuration: b, before: a } },
      { event: 'removed', id: tags[2], data: { configuration: b } },
    ])
  })

  it('goes on after the event that the reader has seen; Last-Event-ID beats since', async (t) => {
    const service = await start(t)
    const { headers, add, tag } = await connect(service)
    await add('a')
    const first = await tag()
    await add('b')
    const second = await tag()
    await add('c')
    const namesAfter = async (path: string, seen?: string) => {
      const reader = await readEvents(
        t,
        service.url,
        { ...headers, ...(seen && { 'Last-Event-ID': seen }) },
        path,
      )
      await reader.until(`id: ${await tag()}`)
      return reader.events().map(({ data }) => data.configuration?.name)
    }
    assert.deepEqual(await namesAfter('/v1/events', first), ['b', 'c'])
    assert.deepEqual(await namesAfter(`/v1/events?since=${second}`), ['c'])
    assert.deepEqual(await namesAfter(`/v1/events?since=${first}`, second), ['c'])
    assert.deepEqual(await namesAfter(`/v1/events?since=${first}`, ''), ['b', 'c'])
  })

  it('numbers the changes of an import, which share a tag, and goes on after any of them', async (t) => {
    const service = await start(t)
    const { headers, add, tag, importAll } = await connect(service)
    await add('before')
    const before = await tag()
    await importAll(['a', 'b', 'c'])
    const after = await tag()
    await add('later')
    const reader = await readEvents(t, service.url, { ...headers, 'Last-Event-ID': before })
    const events = await reader.take(4)
    assert.deepEqual(
      events.map(({ id }) => id),
      [`${after}.1`, `${after}.2`, after, await tag()],
    )
    for (const [i, { id }] of events.entries()) {
      const next = await readEvents(t, service.url, { ...headers, 'Last-Event-ID': id })
      assert.deepEqual(await next.take(events.length - 1 - i), events.slice(i + 1))
    }
    for (const unknown of [`${after}.3`, `${before}.1`]) {
      const lost = await readEvents(t, service.url, { ...headers, 'Last-Event-ID': unknown })
      assert.equal((await lost.take(1))[0]?.event, 'reset')
    }
  })

  it('sends a reset, with the current tag, for a tag that it does not know', async (t) => {
    const service = await start(t)
    const { headers, add, tag } = await connect(service)
    await add('a')
    const now = await tag()
    const later = now.replace(/\d+$/, '9')
    for (const unknown of [later, now.replace(/^./, (first) => (first === '0' ? '1' : '0')), `${later}.1`]) {
      const reader = await readEvents(t, service.url, { ...headers, 'Last-Event-ID': unknown })
      assert.deepEqual(await reader.take(1), [{ event: 'reset', id: now, data: {} }])
    }
  })

  it('sends a reset to a reader that is 10,001 changes behind, and the changes to one that is less behind', async (t) => {
    const service = await start(t)
    const { headers, add, tag, importAll } = await connect(service)
    await add('first')
    const before = await tag()
    await importAll(Array.from({ length: 10_001 }, (_, i) => `r${i}`))
    const after = await tag()
    const late = await readEvents(t, service.url, { ...headers, 'Last-Event-ID': before })
    assert.deepEqual(await late.take(1), [{ event: 'reset', id: after, data: {} }])
    const inTime = await readEvents(t, service.url, { ...headers, 'Last-Event-ID': `${after}.1` })
    await inTime.until(`id: ${after}\n`)
    const names = inTime.events().map(({ data }) => data.configuration?.name)
    assert.deepEqual(
      names,
      Array.from({ length: 10_000 }, (_, i) => `r${i + 1}`),
    )
    await add('last')
    await late.take(2)
    assert.equal(late.events()[1]?.id, await tag())
  })

  it('sends each change of an import of 10,000 to a reader that listens', async (t) => {
    const service = await start(t)
    const { headers, tag, importAll } = await connect(service)
    const names = Array.from({ length: 10_000 }, (_, i) => `r${i}`)
    const reader = await readEvents(t, service.url, headers)
    await reader.until('\n\n')
    await importAll(names)
    const last = await tag()
    await reader.until(`id: ${last}\n`)
    const events = reader.events()
    assert.equal(events.length, names.length)
    // Comparing all at once would take minutes to say what differs.
    for (const [i, { id, data }] of events.entries()) {
      const expected = i === names.length - 1 ? last : `${last}.${i + 1}`
      assert.deepEqual([id, data.configuration?.name], [expected, names[i]])
    }
  })

  it('sends only changes whose record the filter keeps before or after', async (t) => {
    const service = await start(t)
    const { headers, ask, add, tag } = await connect(service)
    const since = await tag()
    await add('db/a', 1)
    await add('web/a', 1)
    await ask('PATCH', '/configurations/web%2Fa', { body: { name: 'db/b' } })
    await ask('PATCH', '/configurations/db%2Fb', { body: { name: 'web/b' } })
    await ask('PATCH', '/configurations/web%2Fb', { body: { port: 2 } })
    await ask('DELETE', '/configurations/db%2Fa')
    await add('end', 3)
    const told = async (query: string) => {
      const reader = await readEvents(t, service.url, headers, `/v1/events?since=${since}&${query}`)
      await reader.until(`id: ${since}\n`)
      return reader
    }
    const cases: [query: string, events: string][] = [
      ['prefix=db/', 'added db/a, modified db/b, modified web/b, removed db/a'],
      ['name=web/b', 'modified web/b, modified web/b'],
      ['port=2', 'modified web/b'],
      ['port=1&prefix=web', 'added web/a, modified db/b, modified web/b, modified web/b'],
      ['hostname=host.example&username=ops&name=end', 'added end'],
      ['username=nobody', ''],
    ]
    for (const [query, expected] of cases) {
      const wanted = expected === '' ? [] : expected.split(', ')
      const reader = await told(query)
      const events = await reader.take(wanted.length)
      assert.deepEqual(
        events.map(({ event, data }) => `${event} ${data.configuration?.name}`),
        wanted,
        query,
      )
    }
  })

  it('sends changes of labels, with a filter by labels those that it keeps before or after', async (t) => {
    const service = await start(t)
    const { headers, ask, tag } = await connect(service)
    const since = await tag()
    const add = (name: string, labels: object) =>
      ask('POST', '/configurations/', { body: { ...draft(name), labels } })
    const patch = (name: string, labels: object) =>
      ask('PATCH', `/configurations/${name}`, { body: { labels } })
    await add('a', { env: 'prod', constructor: '' })
    await add('b', {})
    await patch('b', { env: 'test' })
    await patch('a', { env: 'test' })
    await patch('a', { env: null })
    await patch('b', { env: '' })
    await ask('DELETE', '/configurations/b')
    const cases: [query: string, events: string][] = [
      ['label=env', 'added a, modified b, modified a, modified a, modified b, removed b'],
      ['label=env=prod', 'added a, modified a'],
      ['label=env=test', 'modified b, modified a, modified a, modified b'],
      ['label=env=', 'modified b, removed b'],
      ['label=env&label=constructor', 'added a, modified a, modified a'],
      ['label=env=test&name=b', 'modified b, modified b'],
      ['label=env=prod&label=env=', 'added a, modified a, modified b, removed b'],
      ['label=!env', 'added b, modified b, modified a'],
      ['label=env!=test&name=a', 'added a, modified a, modified a'],
      ['id=2', 'added b, modified b, modified b, removed b'],
      ['label=valueof', ''],
    ]
    for (const [query, expected] of cases) {
      const wanted = expected === '' ? [] : expected.split(', ')
      const reader = await readEvents(t, service.url, headers, `/v1/events?since=${since}&${query}`)
      await reader.until(`id: ${since}\n`)
      const events = await reader.take(wanted.length)
      assert.deepEqual(
        events.map(({ event, data }) => `${event} ${data.configuration?.name}`),
        wanted,
        query,
      )
      if (query !== 'label=env=prod') continue
      assert.deepEqual(events[1]?.data, {
        configuration: { id: 1, ...draft('a'), labels: { constructor: '', env: 'test' } },
        before: { id: 1, ...draft('a'), labels: { constructor: '', env: 'prod' } },
      })
    }
  })

  it('refuses an invalid tag or filter, and names it', async (t) => {
    const service = await start(t)
    const { ask } = await connect(service)
    const fieldsOf = async (query: string, seen?: string) => {
      const answer = await ask(
        'GET',
        `/v1/events${query}`,
        seen === undefined ? {} : { headers: { 'Last-Event-ID': seen } },
      )
      assert.equal(answer.status, 400, query)
      return answer.json<{ errors: { field: string }[] }>().errors.map(({ field }) => field)
    }
    for (const seen of ['x', '"abc-1"', 'abc-', 'abc-1.0', 'abc-1.x', '-1', 'abc-1 '.padEnd(9, 'x')]) {
      assert.deepEqual(await fieldsOf('', seen), ['Last-Event-ID'], seen)
      assert.deepEqual(await fieldsOf(`?since=${encodeURIComponent(seen)}`), ['since'], seen)
    }
    assert.deepEqual(await fieldsOf('?since='), ['since'])
    assert.deepEqual(await fieldsOf('?prefix=&name=&port=022&hostname=&username='), [
      ...['prefix', 'name', 'hostname', 'port', 'username'],
    ])
    for (const id of ['id=', 'id=x', 'id=1&id=2']) assert.deepEqual(await fieldsOf(`?${id}`), ['id'], id)
    for (const label of ['label=', 'label=Env', 'label=a=%00', `label=a=${'x'.repeat(256)}`])
      assert.deepEqual(await fieldsOf(`?name=a&${label}`), ['label'], label)
    for (const port of ['0', '65536', '-1', '1e3'])
      assert.deepEqual(await fieldsOf(`?port=${port}`), ['port'])
    assert.deepEqual(await fieldsOf('?q=x&name=a&name=b'), ['q', 'name'])
  })

  it('answers HEAD at once, and asks for a credential', async (t) => {
    const service = await start(t)
    const { ask } = await connect(service)
    const head = await ask('HEAD', '/v1/events')
    assert.equal(head.status, 200)
    assert.equal(head.headers['content-type'], 'text/event-stream')
    assert.equal(await gauge(service, 'connbook_event_streams'), 0)
    assert.equal((await service.call('/v1/events')).status, 403)
  })

  it('ends when its credential ends: by a logout, and by expiry', async (t) => {
    skipPauses(t, WAITING_CALLS_LOOK_MS)
    const clock = holdClock()
    const service = await start(t, { clock })
    const cookie = await service.cookie()
    const byCookie = await readEvents(t, service.url, { Cookie: cookie })
    const { headers, add } = await connect(service)
    const byBearer = await readEvents(t, service.url, headers)
    await service.call('/logout', { method: 'POST', headers: { Cookie: cookie } })
    await add('after the logout')
    await byBearer.take(1)
    await byCookie.ended
    assert.deepEqual(byCookie.events(), [])
    clock.advance(3_600_000)
    await byBearer.ended
    assert.equal(await gauge(service, 'connbook_event_streams'), 0)
  })

  it('ends for a reader that has closed its side, and gives up its place', async (t) => {
    skipPauses(t, HALF_CLOSED_PROBE_MS)
    const service = await start(t)
    const { headers } = await connect(service)
    const { hostname: host, port } = new URL(service.url)
    const socket = connectTo({ host, port: Number(port), allowHalfOpen: true })
    t.after(() => socket.destroy())
    socket.write(formatRequest('GET /v1/events', headers))
    await once(socket, 'data')
    assert.equal(await gauge(service, 'connbook_event_streams'), 1)
    socket.end()
    await once(socket, 'close')
    await eventually('the place is free', async () => (await gauge(service, 'connbook_event_streams')) === 0)
  })

  it('ends at a stop, which does not wait for it', async (t) => {
    const service = await start(t, { flags: ['--shutdown-timeout', '1h'] })
    const { headers, add } = await connect(service)
    const reader = await readEvents(t, service.url, headers)
    await add('a')
    await reader.take(1)
    await Promise.all([service.stop(), reader.ended])
  })

  it('sends no change that the disk has refused', async (t) => {
    skipPauses(t, REFUSAL_PAUSE_MS, RECOVERY_PAUSE_MS_MIN)
    const files = createFailingFiles()
    const service = await start(t, { folder: await temporaryFolder(t), files })
    const { headers, ask, add } = await connect(service)
    const reader = await readEvents(t, service.url, headers)
    failOn(files, 'write', 'journal', 'ENOSPC')
    assert.equal((await add('refused')).status, 507)
    assert.equal((await add('kept')).status, 200)
    failOn(files, 'datasync', 'journal', 'EIO')
    assert.equal((await add('in doubt')).status, 503)
    let answer = await add('last')
    while (answer.status === 503) answer = await add('last')
    await reader.until('"last"')
    const told = reader.events().map(({ data }) => data.configuration?.name)
    assert.deepEqual(
      told,
      recordsIn(await ask('GET', '/configurations/')).map(({ name }) => name),
    )
    assert.deepEqual(told, ['kept', 'last'])
  })

  it('ends for a reader that stops reading, and goes on for the others', async (t) => {
    const service = await start(t)
    const { headers, ask, importAll } = await connect(service)
    const stopped = await readEvents(t, service.url, headers)
    const other = await readEvents(t, service.url, headers)
    await stopped.until('\n\n')
    stopped.answer.pause()
    // Looks come only when the other reader has everything.
    const tick = holdTimers(t)
    const seen = (part: string) => passTimeUntil(tick, EVENTS_PAUSE_MS, other.until(part))
    // Few large records: what counts is the bytes that wait.
    const labels = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`l${i}`, 'x'.repeat(255)]))
    const names = Array.from({ length: 200 }, (_, i) => `r${i}`)
    let port = 1
    while ((await gauge(service, 'connbook_event_streams')) === 2) {
      await ask('POST', '/v1/import', { body: names.map((name) => ({ ...draft(name, { port }), labels })) })
      await seen(`"name":"r199","hostname":"host.example","port":${port},`)
      tick(WAITING_CALLS_LOOK_MS)
      port += 1
    }
    await importAll(['the end'])
    await seen('"the end"')
    assert.ok(!stopped.text().includes('the end'))
  })
})

it('the events in a text leave out comments and blocks without data', () => {
  assert.deepEqual(eventsIn(':\n\nid: x\n\nevent: reset\nid: y\ndata: {}\n\nevent: added\n'), [
    { event: 'reset', id: 'y', data: {} },
  ])
})

async function gauge(service: TestService, name: string): Promise<number> {
  const text = await (
    await service.call('/metrics', { headers: { Authorization: await service.bearer() } })
  ).text()
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
}
