import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Family, gauge, Histogram } from '../../src/metrics/family.ts'
import { MOMENTS_MAX, RecentFigures } from '../../src/metrics/recent-figures.ts'

function setUp() {
  const held = { elapsedMs: 0, answered: 0, failed: 0, records: 7 }
  const [list, one, syncs] = [new Histogram([0.1, 1]), new Histogram([0.1, 1]), new Histogram([0.1, 1])]
  const families: Family[] = [
    {
      name: 'connbook_http_requests_total',
      help: 'Requests.',
      type: 'counter',
      samples: () => [
        { labels: { route: '/a', status: '200' }, value: held.answered },
        { labels: { route: '/b', status: '201' }, value: 1 },
        { labels: { route: '/b', status: '503' }, value: held.failed },
      ],
    },
    {
      name: 'connbook_http_request_duration_seconds',
      help: 'Durations.',
      type: 'histogram',
      samples: () => [
        { labels: { route: '/a' }, value: list },
        { labels: { route: '/b' }, value: one },
      ],
    },
    {
      name: 'connbook_journal_fsync_duration_seconds',
      help: 'Syncs.',
      type: 'histogram',
      samples: () => [{ value: syncs }],
    },
    {
      name: 'connbook_event_loop_delay_seconds',
      help: 'Delay.',
      type: 'summary',
      samples: () => [
        {
          value: {
            quantiles: [
              [0.5, 0.001],
              [0.99, 0.02],
            ],
            sum: 1,
            count: 1,
          },
        },
      ],
    },
    gauge('connbook_records', 'Records.', () => held.records),
    gauge('connbook_journal_bytes', 'Not known yet.', () => undefined),
    gauge('connbook_http_connections', 'Cannot be read.', () => {
      throw new Error('made by the test')
    }),
  ]
  const recent = new RecentFigures(families, () => held.elapsedMs)
  return { held, list, one, syncs, recent }
}

describe('recent figures', () => {
  it('have no rates at the first moment, and leave out what has no value', () => {
    const { recent } = setUp()
    recent.take()
    const [{ time, ...moment } = { time: '' }] = recent.moments
    assert.match(time, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    assert.deepEqual(moment, { records: 7, event_loop: { p50: 0.001, p99: 0.02 } })
  })

  it('say what has come since the moment before: answers a second, and how long they took', () => {
    const { held, list, one, syncs, recent } = setUp()
    for (const histogram of [list, one, syncs]) histogram.observe(5)
    recent.take()
    held.elapsedMs = 10_000
    held.answered = 20
    held.failed = 5
    for (let i = 0; i < 4; i += 1) list.observe(0.05)
    syncs.observe(0.5)
    recent.take()
    const [, moment] = recent.moments
    assert.deepEqual(moment?.requests, { '2xx': 2, '3xx': 0, '4xx': 0, '5xx': 0.5 })
    assert.deepEqual(moment?.answers, { p50: 0.05, p99: 0.099 })
    assert.deepEqual(moment?.routes, { '/a': { p50: 0.05, p99: 0.099 } })
    assert.deepEqual(moment?.syncs, { p50: 0.55, p99: 0.991 })
  })

  it('have no quantiles of a time without an answer; a slow one is as long as the last bound', () => {
    const { held, one, recent } = setUp()
    recent.take()
    held.elapsedMs = 10_000
    recent.take()
    held.elapsedMs = 20_000
    one.observe(60)
    recent.take()
    const [, idle, slow] = recent.moments
    assert.deepEqual([idle?.answers, idle?.routes, idle?.syncs], [undefined, undefined, undefined])
    assert.deepEqual(slow?.answers, { p50: 1, p99: 1 })
  })

  it('are those of the last 15 minutes', () => {
    const { held, recent } = setUp()
    for (let i = 0; i < MOMENTS_MAX + 3; i += 1) {
      held.records = i
      recent.take()
    }
    assert.deepEqual(
      recent.moments.map(({ records }) => records),
      Array.from({ length: MOMENTS_MAX }, (_, i) => i + 3),
    )
  })
})
