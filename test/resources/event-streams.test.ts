import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { LivePiece, LiveSink, Principal, Request } from '../../src/http/message.ts'
import { Problem } from '../../src/http/problem.ts'
import { FILTER_CHARACTERS_MAX, TAKING_TIMEOUT_MS } from '../../src/limits.ts'
import {
  EVENTS_COMMENT_MS,
  EVENTS_WAITING_BYTES_MAX,
  EventStreams,
} from '../../src/resources/event-streams.ts'
import { EventPieces } from '../../src/resources/event-text.ts'
import { type WaitingCall, WaitingCalls } from '../../src/resources/waiting-calls.ts'
import { type LongWork, Scheduler } from '../../src/scheduler.ts'
import { accessOf } from '../../src/store/access.ts'
import { listTag } from '../../src/store/list-tag.ts'
import { RECENT_CHANGES_MAX } from '../../src/store/recent-changes.ts'
import type { Filter } from '../../src/store/record-filter.ts'
import { until } from '../support/eventually.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { draft, openStore, someone } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** Notes the calls, so that the test alone looks at them, when it wants. */
class NotedCalls extends WaitingCalls {
  readonly entered: WaitingCall[] = []

  override enter(request: Request, call: WaitingCall): () => void {
    this.entered.push(call)
    return super.enter(request, { look: () => {}, giveWay: () => call.giveWay() })
  }
}

async function setUp(t: TestContext) {
  const { store } = await openStore(t, await temporaryFolder(t))
  const scheduler = new Scheduler()
  const log = createMemoryLog()
  const calls = new NotedCalls(scheduler, log)
  t.after(() => calls.close())
  const streams = new EventStreams(store, calls)
  /** Opens a stream to a sink that the test looks at. */
  const open = (filter = {}) => {
    const sink = {
      pieces: [] as Uint8Array[],
      hasRoom: true,
      passedBytes: 0,
      state: 'open',
      send: ({ bytes }: LivePiece) => void sink.pieces.push(bytes),
      end() {
        sink.state = 'ended'
      },
      cut() {
        sink.state = 'cut'
      },
      text: () => Buffer.concat(sink.pieces).toString(),
    }
    const request = { address: '127.0.0.1', headers: {}, isEnded: false } as unknown as Request & {
      isEnded: boolean
    }
    request.checkAgain = () => {
      if (request.isEnded) throw new Problem('invalid_token', 'It has ended')
    }
    const body = streams.open(request, { after: store.revision, filter })
    body.begin(sink satisfies LiveSink)
    const look = (ms: number) => calls.entered.at(-1)?.look(performance.now() + ms)
    return { sink, body, request, look }
  }
  return { store, scheduler, log, streams, calls, open }
}

/** How many slices the work for all streams has taken; 0 until it is done. */
function countSlices(t: TestContext, scheduler: Scheduler): () => number {
  let slices = 0
  t.mock.method(scheduler, 'run', async (_: string, work: LongWork<boolean>) => {
    for (let count = 1; ; count++) {
      const { done, value } = work.next()
      if (!done) continue
      // Those that only look whether there is something come in between.
      slices = Math.max(slices, count)
      return value
    }
  })
  return () => slices
}

describe('event streams', () => {
  it('end at once if they had to give way before they began', async (t) => {
    const { store, streams, calls } = await setUp(t)
    const request = { address: '127.0.0.1', headers: {} } as unknown as Request
    const body = streams.open(request, { after: store.revision, filter: {} })
    calls.entered.at(-1)?.giveWay()
    assert.equal(streams.count, 0)
    const ended: string[] = []
    const sink = { send: () => void ended.push('sent'), hasRoom: true, passedBytes: 0 }
    body.begin({ ...sink, end: () => void ended.push('ended'), cut: () => assert.fail('it has room') })
    assert.deepEqual(ended, ['sent', 'ended'])
  })

  it('share the bytes of the events that they send', async (t) => {
    const { store, open } = await setUp(t)
    const [a, b] = [open(), open()]
    await store.importAll(someone, [draft('a'), draft('b')], 'merge')
    // On a busy machine it may be one event a piece.
    const both = /event: added\n.*event: added\n/s
    await until(() => [a, b].every(({ sink }) => both.test(sink.text())))
    assert.equal(a.sink.pieces[1], b.sink.pieces[1])
  })

  it('of one account share what they see and send, and hold no text of its grants', async (t) => {
    const { store, streams } = await setUp(t)
    const grants = ['read?label=a=b', `read?prefix=${'n'.repeat(FILTER_CHARACTERS_MAX)}`]
    const principal: Principal = { kind: 'client', name: 'c', scope: 'read', grants }
    const request = { address: '127.0.0.1', headers: {}, principal } as unknown as Request
    const at = t.mock.method(EventPieces.prototype, 'at')
    const sent: LivePiece[] = []
    const access = accessOf(request)
    const open = (filter: Filter) => {
      const body = streams.open(request, { after: store.revision, filter, access })
      const sink = { hasRoom: true, passedBytes: 0, end() {}, cut() {} }
      body.begin({ ...sink, send: (piece) => void sent.push(piece) })
    }
    for (const filter of [{}, { ...{} }, { name: 'a' }]) open(filter)
    await store.add(someone, draft('a', { labels: { a: 'b' } }))
    await until(() => sent.length === 6)
    const positions = at.mock.calls.map((call) => call.arguments[0])
    assert.equal(new Set(positions.map(({ filterKey }) => filterKey)).size, 2)
    assert.ok(positions.every(({ filterKey }) => filterKey.length < 50))
    assert.equal(new Set(sent.slice(3)).size, 2)
  })

  it('send a comment when nothing has happened for long, with the id that a filter has passed', async (t) => {
    const { store, open } = await setUp(t)
    const plain = open()
    plain.look(EVENTS_COMMENT_MS - 1_000)
    assert.equal(plain.sink.pieces.length, 1)
    plain.look(EVENTS_COMMENT_MS + 1)
    assert.equal(String(plain.sink.pieces[1]), ':\n\n')
    const filtered = open({ name: 'other' })
    await store.add(someone, draft('a'))
    await until(() => plain.sink.text().includes('added'))
    await new Promise((resolve) => setImmediate(resolve))
    filtered.look(EVENTS_COMMENT_MS + 1)
    assert.match(String(filtered.sink.pieces[1]), /^:\nid: \w+-1\n\n$/)
  })

  it('are cut when their reader takes nothing for long, but not for being quiet', async (t) => {
    const { store, open } = await setUp(t)
    const { sink, look } = open()
    look(10 * TAKING_TIMEOUT_MS)
    assert.equal(sink.state, 'open')
    sink.hasRoom = false
    await store.add(someone, draft('a'))
    look(TAKING_TIMEOUT_MS - 10_000)
    sink.passedBytes = 10
    look(TAKING_TIMEOUT_MS + 10_000)
    look(2 * TAKING_TIMEOUT_MS)
    assert.equal(sink.state, 'open')
    look(2 * TAKING_TIMEOUT_MS + 20_000)
    assert.equal(sink.state, 'cut')
  })

  it('are cut at the third check that finds more than 1 MiB waiting, however long a check takes to come', async (t) => {
    const { store, open } = await setUp(t)
    const { sink, body, look } = open()
    const names = Array.from({ length: 2_100 }, (_, i) => draft(String(i).padEnd(255, 'x')))
    sink.hasRoom = false
    await store.importAll(someone, names, 'merge')
    assert.ok(store.recent.bytesAfter(0) > EVENTS_WAITING_BYTES_MAX)
    look(0)
    look(60_000)
    sink.hasRoom = true
    body.drained()
    await until(() => sink.pieces.length > 1)
    assert.equal(sink.state, 'open')
    await until(() => sink.text().includes(`${names.length - 1}x`))
    sink.hasRoom = false
    await store.importAll(
      someone,
      names.map((name) => ({ ...name, port: 1 })),
      'merge',
    )
    for (const state of ['open', 'open', 'cut']) {
      look(0)
      assert.equal(sink.state, state)
    }
  })

  it('are reset when they missed a change that is no longer kept, and then get what follows', async (t) => {
    const { store, open } = await setUp(t)
    const { sink, body } = open()
    sink.hasRoom = false
    const drafts = Array.from({ length: RECENT_CHANGES_MAX + 1 }, (_, i) => draft(`r${i}`))
    await store.importAll(someone, drafts, 'merge')
    const tag = listTag(store.id, store.revision)
    sink.hasRoom = true
    body.drained()
    await until(() => sink.pieces.length === 2)
    assert.equal(String(sink.pieces[1]), `event: reset\nid: ${tag}\ndata: {}\n\n`)
    await store.add(someone, draft('a'))
    await until(() => sink.pieces.length === 3)
    assert.match(String(sink.pieces[2]), /^event: added\n.*"name":"a"/s)
  })

  it('are served in slices, also when most of them have no room', async (t) => {
    const { store, scheduler, open } = await setUp(t)
    let now = performance.now()
    t.mock.method(performance, 'now', () => now)
    const readers = Array.from({ length: 100 }, () => open())
    await until(() => readers.every(({ sink }) => sink.pieces.length === 1))
    for (const { sink, request } of readers) {
      sink.hasRoom = false
      request.checkAgain = () => {
        now += 0.1
      }
    }
    const slices = countSlices(t, scheduler)
    await store.add(someone, draft('a'))
    await until(() => slices() > 0)
    assert.ok(slices() > readers.length / 15, `${slices()} slices`)
  })

  it('are served in as many slices as there are writes that take long', async (t) => {
    const { store, scheduler, open } = await setUp(t)
    const readers = Array.from({ length: 5 }, () => open())
    await until(() => readers.every(({ sink }) => sink.pieces.length === 1))
    let now = performance.now()
    t.mock.method(performance, 'now', () => now)
    let sends = 0
    for (const { sink } of readers)
      sink.send = () => {
        sends += 1
        now += 2
      }
    const slices = countSlices(t, scheduler)
    await store.add(someone, draft('a'))
    await until(() => sends === readers.length)
    assert.ok(slices() > readers.length, `${slices()} slices`)
  })

  it('end alone when sending to them fails, which is logged', async (t) => {
    const { store, streams, log, open } = await setUp(t)
    const [failing, other] = [open(), open()]
    failing.sink.send = () => {
      throw new Error('a bug')
    }
    await store.add(someone, draft('a'))
    await until(() => other.sink.text().includes('"a"'))
    assert.equal(failing.sink.state, 'ended')
    await store.add(someone, draft('b'))
    await until(() => other.sink.text().includes('"b"'))
    assert.equal(streams.count, 1)
    assert.deepEqual(log.events, ['waiting_request_failed'])
  })

  it('go on after sending to all of them has failed, which is logged', async (t) => {
    const { store, scheduler, log, open } = await setUp(t)
    const { sink } = open()
    await new Promise((resolve) => setImmediate(resolve))
    t.mock.method(scheduler, 'run', async () => Promise.reject(new Error('a bug')), { times: 1 })
    await store.add(someone, draft('a'))
    await until(() => log.events.length > 0)
    await store.add(someone, draft('b'))
    await until(() => sink.text().includes('"b"'))
    assert.match(sink.text(), /"a".*"b"/s)
    assert.deepEqual(log.events, ['waiting_request_failed'])
  })

  it('go on when their reader has room again', async (t) => {
    const { store, open } = await setUp(t)
    const { sink, body } = open()
    sink.hasRoom = false
    await store.add(someone, draft('a'))
    const other = open()
    await store.add(someone, draft('b'))
    await until(() => other.sink.text().includes('"b"'))
    assert.equal(sink.pieces.length, 1)
    sink.hasRoom = true
    body.drained()
    await until(() => sink.pieces.length === 2)
    assert.match(sink.text(), /"a".*"b"/s)
  })

  it('end with their credential, before the next event', async (t) => {
    const { store, streams, open } = await setUp(t)
    const { sink, request } = open()
    request.isEnded = true
    await store.add(someone, draft('a'))
    await until(() => sink.state === 'ended')
    assert.equal(sink.pieces.length, 1)
    assert.equal(streams.count, 0)
  })
})
