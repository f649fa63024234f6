import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Request } from '../../src/http/message.ts'
import { WAITING_CALLS_LOOK_MS } from '../../src/limits.ts'
import { METRICS_KEPT_MS } from '../../src/resources/metrics.ts'
import { WaitingCalls } from '../../src/resources/waiting-calls.ts'
import { WaitingPolls } from '../../src/resources/waiting-polls.ts'
import { Scheduler } from '../../src/scheduler.ts'
import { HALF_CLOSED_PROBE_MS } from '../../src/server/incoming-request.ts'
import { listTag } from '../../src/store/list-tag.ts'
import { RECENT_CHANGES_MAX } from '../../src/store/recent-changes.ts'
import { eventually } from '../support/eventually.ts'
import { holdClock } from '../support/held-clock.ts'
import { holdTurns } from '../support/held-turns.ts'
import { createClient, recordsIn } from '../support/http-client.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { start } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'
import { draft, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const LIST = '/configurations/'
const RECORD = '/configurations/a'

async function setUp(t: TestContext, { flags = [] as string[] } = {}) {
  skipPauses(t, HALF_CLOSED_PROBE_MS, WAITING_CALLS_LOOK_MS)
  const clock = holdClock()
  const service = await start(t, { clock, flags })
  const headers = { Authorization: await service.bearer() }
  const ask = createClient(service.url, headers)
  const change = (port: number) => ask('PATCH', RECORD, { body: { port } })
  const etagOf = async (path: string) => String((await ask('HEAD', path)).headers.etag)
  /** Asks with the tag of now, and waits until the server has the request. */
  const poll = async (path: string, prefer = 'wait=50', method = 'GET') => {
    const before = await waiting()
    const answer = ask(method, path, { headers: { 'If-None-Match': await etagOf(path), Prefer: prefer } })
    while ((await waiting()) <= before);
    return answer
  }
  /** Waits until the server has so many. */
  const untilWaiting = async (count: number) => {
    while ((await waiting()) !== count);
  }
  const waiting = async () => {
    clock.advance(METRICS_KEPT_MS)
    return Number(/^connbook_waiting_polls (\d+)$/m.exec((await ask('GET', '/metrics')).text)?.[1])
  }
  await ask('POST', LIST, { body: draft('a') })
  await ask('POST', LIST, { body: draft('b') })
  return { service, clock, ask, change, etagOf, poll, waiting, untilWaiting }
}

/** Makes the elapsed time stand still until the function that is returned moves it. */
function holdElapsed(t: TestContext): (ms: number) => void {
  let elapsed = performance.now()
  t.mock.method(performance, 'now', () => elapsed)
  return (ms) => {
    elapsed += ms
  }
}

describe('Prefer: wait', () => {
  it('answers a list and a record when they change, and nobody whose record stays', async (t) => {
    const { ask, change, poll, waiting, untilWaiting } = await setUp(t)
    const polls = [poll(LIST), poll(`${LIST}?sort=-name&page=0&per_page=1`), poll(RECORD)]
    await untilWaiting(3)
    const other = poll('/configurations/b')
    await untilWaiting(4)
    await change(23)
    for (const answer of await Promise.all(polls)) {
      assert.equal(answer.status, 200)
      assert.equal(answer.headers['preference-applied'], 'wait=50')
      assert.equal(answer.headers.vary, 'Prefer')
      assert.ok(answer.headers.etag)
    }
    assert.deepEqual(
      recordsIn((await polls[2]) ?? assert.fail()).map(({ port }) => port),
      [23],
    )
    assert.equal(await waiting(), 1)
    await ask('DELETE', '/configurations/b')
    assert.equal((await other).status, 404)
    assert.equal(await waiting(), 0)
  })

  it('wakes a list with a filter only for a change that the filter can see, before it or after', async (t) => {
    const { ask, change, poll, etagOf, waiting, untilWaiting } = await setUp(t)
    const [inA, portB] = [poll(`${LIST}?name=a&port=23`), poll(`${LIST}?prefix=b`)]
    await untilWaiting(2)
    await change(23)
    const entered = await inA
    assert.deepEqual([entered.status, recordsIn(entered).length], [200, 1])
    assert.equal(entered.headers.etag, await etagOf(LIST))
    const left = poll(`${LIST}?name=a&port=23`)
    await untilWaiting(2)
    await change(24)
    assert.deepEqual([(await left).status, recordsIn(await left).length], [200, 0])
    assert.equal(await waiting(), 1)
    await ask('DELETE', '/configurations/b')
    assert.equal((await portB).headers.etag, await etagOf(LIST))
  })

  it('judges a list with a filter by the changes since the tag, and ends with the tag of then', async (t) => {
    const { ask, change, etagOf, waiting, untilWaiting } = await setUp(t)
    const old = await etagOf(LIST)
    await change(23)
    const wait = (query: string, tag: string, prefer = 'wait=50') =>
      ask('GET', `${LIST}?${query}`, { headers: { 'If-None-Match': tag, Prefer: prefer } })
    const pass = holdElapsed(t)
    const unseen = wait('name=b', old, 'wait=1')
    const seen = await wait('name=a', old)
    assert.deepEqual([seen.status, recordsIn(seen)[0]?.port], [200, 23])
    await untilWaiting(1)
    const now = await etagOf(LIST)
    const both = wait('name=b', `W/"other-1", ${old}, W/${now}`, 'wait=1')
    await untilWaiting(2)
    pass(1_000)
    assert.deepEqual([(await unseen).status, (await unseen).headers.etag], [200, now])
    assert.equal((await unseen).headers['preference-applied'], 'wait=1')
    assert.equal((await both).status, 304)
    const [store = ''] = old.slice(1).split('-')
    for (const tag of ['"other-1"', `"${store}-999"`, '"x"'])
      assert.deepEqual([(await wait('name=b', tag)).status, await waiting()], [200, 0], tag)
  })

  it('answers a list with a filter at once when not all changes since the tag are known', async (t) => {
    const folder = await temporaryFolder(t)
    const { store } = await openStore(t, folder)
    await store.add(someone, draft('a'))
    const tag = listTag(store.id, store.revision)
    const scheduler = new Scheduler()
    const calls = new WaitingCalls(scheduler, createMemoryLog())
    t.after(() => calls.close())
    const polls = new WaitingPolls(store, scheduler, calls)
    const request = {
      address: '127.0.0.1',
      headers: { prefer: 'wait=50', 'if-none-match': `"${tag}"` },
      signal: new AbortController().signal,
    } as unknown as Request
    const drafts = Array.from({ length: RECENT_CHANGES_MAX + 1 }, (_, i) => draft(`b${i}`))
    await store.importAll(someone, drafts, 'merge')
    assert.ok(store.recent.floor > 1)
    const answer = polls.answer(request, { list: true, filter: { name: 'a' } }, () => ({
      status: 200,
      headers: {},
    }))
    assert.equal((await answer).status, 200)
    assert.equal(polls.count, 0)
  })

  it('answers 304 when the wait is over, and counts more than 50 s as 50', async (t) => {
    const { ask, etagOf, poll, change, untilWaiting, waiting } = await setUp(t)
    const pass = holdElapsed(t)
    const headers = { 'If-None-Match': await etagOf(RECORD), Prefer: 'respond-async, wait=1' }
    const answered = ask('GET', RECORD, { headers })
    await untilWaiting(1)
    // The look after the next would be too late.
    pass(1_000 - WAITING_CALLS_LOOK_MS)
    assert.equal(await waiting(), 1)
    pass(1)
    const answer = await answered
    assert.equal(answer.status, 304)
    assert.equal(answer.text, '')
    assert.equal(answer.headers['preference-applied'], 'wait=1')
    assert.equal(answer.headers.etag, headers['If-None-Match'])
    const long = poll(RECORD, 'wait=1000')
    await untilWaiting(1)
    void change(24)
    assert.equal((await long).headers['preference-applied'], 'wait=50')
  })

  it('answers at once when there is nothing to wait for', async (t) => {
    const { ask, etagOf } = await setUp(t)
    const etag = await etagOf(LIST)
    const cases: [headers: Record<string, string>, status: number, isApplied: boolean][] = [
      [{ Prefer: 'wait=50' }, 200, false],
      [{ Prefer: 'wait=50', 'If-None-Match': '"other"' }, 200, true],
      [{ Prefer: 'wait=0', 'If-None-Match': etag }, 304, false],
      [{ Prefer: 'wait=soon', 'If-None-Match': etag }, 304, false],
      [{ Prefer: 'return=minimal', 'If-None-Match': etag }, 304, false],
    ]
    for (const [headers, status, isApplied] of cases) {
      const answer = await ask('GET', LIST, { headers })
      assert.equal(answer.status, status, JSON.stringify(headers))
      assert.equal(answer.headers['preference-applied'], isApplied ? 'wait=50' : undefined)
    }
    const missing = await ask('GET', '/configurations/none', {
      headers: { Prefer: 'wait=50', 'If-None-Match': etag },
    })
    assert.equal(missing.status, 404)
  })

  it('answers 404 when the record is renamed, and 403 when the credential ends', async (t) => {
    const { ask, clock, poll, service, untilWaiting } = await setUp(t)
    const renamed = poll(RECORD)
    await untilWaiting(1)
    await ask('PATCH', RECORD, { body: { name: 'c' } })
    assert.equal((await renamed).status, 404)
    const expired = poll('/configurations/c')
    await untilWaiting(1)
    clock.advance(3_600_000)
    const answer = await expired
    assert.equal(answer.status, 403)
    assert.match(answer.text, /invalid_token/)
    assert.equal((await service.call(LIST)).status, 403)
  })

  it('answers all at once at a stop, which does not wait', async (t) => {
    const { service, ask, etagOf, untilWaiting } = await setUp(t, { flags: ['--shutdown-timeout', '1h'] })
    const tags = [await etagOf(LIST), await etagOf(RECORD)]
    // Not by `poll`, which may still ask how many wait when the server stops.
    const polls = [LIST, RECORD].map((path, i) =>
      ask('GET', path, { headers: { 'If-None-Match': tags[i] ?? '', Prefer: 'wait=50' } }),
    )
    await untilWaiting(2)
    await service.stop()
    assert.deepEqual(await Promise.all(polls.map(async (answer) => (await answer).status)), [304, 304])
  })

  it('answers many that one change has woken in slices, not in one turn', async (t) => {
    const folder = await temporaryFolder(t)
    const { store } = await openStore(t, folder)
    const turns = holdTurns()
    const scheduler = { run: () => new Promise<never>(() => {}), once: turns.scheduler.once }
    const calls = new WaitingCalls(scheduler, createMemoryLog())
    t.after(() => calls.close())
    const polls = new WaitingPolls(store, scheduler, calls)
    const request = (i: number) =>
      ({
        address: '127.0.0.1',
        principal: { kind: 'user', name: `u${i % 10}`, scope: 'read' },
        headers: { prefer: 'wait=50', 'if-none-match': '"x"' },
        signal: new AbortController().signal,
      }) as unknown as Request
    let isChanged = false
    let answered = 0
    const answers = Array.from({ length: 1_000 }, (_, i) =>
      polls.answer(request(i), { name: 'a' }, () => {
        if (isChanged) answered += 1
        return { status: isChanged ? 200 : 304, headers: {} }
      }),
    )
    assert.equal(polls.count, 1_000)
    await eventually('all wait', () => calls.count === 1_000)
    isChanged = true
    await store.add(someone, draft('a'))
    await eventually('all are woken', () => turns.waiting() === 1_000)
    assert.equal(answered, 0)
    turns.takeTurns()
    for (const answer of answers) assert.equal((await answer).status, 200)
    assert.equal(polls.count, 0)
  })

  it('takes no place for a client that has gone while its answer was made', async (t) => {
    const { store } = await openStore(t, await temporaryFolder(t))
    const scheduler = new Scheduler()
    const calls = new WaitingCalls(scheduler, createMemoryLog())
    t.after(() => calls.close())
    const polls = new WaitingPolls(store, scheduler, calls)
    const gone = new AbortController()
    const request = {
      address: '127.0.0.1',
      headers: { prefer: 'wait=50', 'if-none-match': '"x"' },
      signal: gone.signal,
    } as unknown as Request
    const answer = polls.answer(request, { list: true }, async () => {
      gone.abort(new Error('gone'))
      return { status: 304, headers: {} }
    })
    await assert.rejects(async () => answer, { message: 'gone' })
    assert.deepEqual([polls.count, calls.count], [0, 0])
  })

  it('answers a list with a filter when checking the changes fails, which is logged', async (t) => {
    const { store } = await openStore(t, await temporaryFolder(t))
    const scheduler = new Scheduler()
    const log = createMemoryLog()
    const calls = new WaitingCalls(scheduler, log)
    t.after(() => calls.close())
    const polls = new WaitingPolls(store, scheduler, calls)
    const request = {
      address: '127.0.0.1',
      headers: { prefer: 'wait=50', 'if-none-match': `"${listTag(store.id, 0)}"` },
      signal: new AbortController().signal,
    } as unknown as Request
    const filter = { name: 'other' }
    const answer = polls.answer(request, { list: true, filter }, () => ({ status: 200, headers: {} }))
    t.mock.method(store.recent, 'at', () => {
      throw new Error('a bug')
    })
    await store.add(someone, draft('a'))
    assert.equal((await answer).status, 200)
    assert.deepEqual(log.events, ['waiting_request_failed'])
  })

  it('forgets callers that have gone', async (t) => {
    const { service, etagOf, untilWaiting } = await setUp(t)
    const gone = new AbortController()
    const headers = {
      Authorization: await service.bearer(),
      'If-None-Match': await etagOf(LIST),
      Prefer: 'wait=50',
    }
    const answer = service.call(LIST, { headers, signal: gone.signal })
    await untilWaiting(1)
    gone.abort()
    await assert.rejects(answer)
    await untilWaiting(0)
  })
})
