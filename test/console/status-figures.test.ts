import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { axisTicks, formatFigure } from '../../src/console/figure-text.ts'
import {
  ALL_ROUTES,
  answerTimes,
  figures,
  joinMoments,
  pointsOf,
  routesIn,
  type ServerMoment,
  type ServerStatus,
  SPAN_MS,
} from '../../src/console/status-figures.ts'
import { Histogram } from '../../src/metrics/family.ts'
import { RecentFigures } from '../../src/metrics/recent-figures.ts'
import { start } from '../support/service.ts'

const SECOND = 1_000
const momentAt = (seconds: number, more = {}): ServerMoment => ({
  time: new Date(seconds * SECOND).toISOString(),
  ...more,
})
const secondsOf = (moments: readonly ServerMoment[]) => moments.map(({ time }) => Date.parse(time) / SECOND)
const records = figures.find(({ title }) => title === 'Records') ?? assert.fail()

describe('the figures of the status', () => {
  it('are all in what the server measures', async (t) => {
    const service = await start(t)
    const headers = { Authorization: await service.bearer() }
    const answer = await service.call('/v1/status', { headers })
    const { moments } = (await answer.json()) as ServerStatus
    const histogram = new Histogram([1])
    const requests = [{ labels: { route: '/x', status: '200' }, value: 1 }]
    const recent = new RecentFigures(
      [
        { name: 'connbook_http_requests_total', help: '', type: 'counter', samples: () => requests },
        {
          name: 'connbook_http_request_duration_seconds',
          help: '',
          type: 'histogram',
          samples: () => [{ labels: { route: '/x' }, value: histogram }],
        },
        {
          name: 'connbook_journal_fsync_duration_seconds',
          help: '',
          type: 'histogram',
          samples: () => [{ value: histogram }],
        },
      ],
      () => performance.now(),
    )
    recent.take()
    histogram.observe(0.5)
    recent.take()
    const moment = { event_loop: { p50: 0, p99: 0 }, ...moments[0], ...recent.moments[1], time: '' }
    for (const each of [...figures, answerTimes(ALL_ROUTES), answerTimes('/x')])
      for (const line of each.lines)
        assert.equal(typeof each.read(moment)[line], 'number', `${each.title}: ${line}`)
  })

  it('have the routes that were busy most often first', () => {
    const quantiles = { p50: 1, p99: 2 }
    const moments = [
      momentAt(0, { routes: { '/a': quantiles } }),
      momentAt(1),
      momentAt(2, { routes: { '/a': quantiles, '/b': quantiles } }),
      momentAt(3, { routes: { '/b': quantiles } }),
      momentAt(4, { routes: { '/b': quantiles } }),
    ]
    assert.deepEqual(routesIn(moments), ['/b', '/a'])
    assert.deepEqual(answerTimes('/c').read(momentAt(0)), {})
  })

  it('go on over a restart of the server, for 15 minutes', () => {
    const before = joinMoments([], { moments: [0, 10, 20].map((at) => momentAt(at)) })
    const after = joinMoments(before, { moments: [200, 210].map((at) => momentAt(at)) })
    assert.deepEqual(secondsOf(after), [0, 10, 20, 200, 210])
    assert.deepEqual(joinMoments(after, { moments: [] }), after)
    const late = joinMoments(after, { moments: [momentAt(205 + SPAN_MS / SECOND)] })
    assert.deepEqual(secondsOf(late), [210, 205 + SPAN_MS / SECOND])
  })

  it('are taken anew where a clock was set back', () => {
    const before = joinMoments([], { moments: [5_000, 5_010].map((at) => momentAt(at)) })
    assert.deepEqual(secondsOf(joinMoments(before, { moments: [momentAt(0)] })), [0])
  })

  it('have a gap where the server was away', () => {
    const moments = [0, 10, 60].map((at) => momentAt(at, { records: at }))
    const points = pointsOf(records, moments, 10 * SECOND)
    assert.deepEqual(
      points.map(({ at, values }) => [at / SECOND, values.records]),
      [
        [0, 0],
        [10, 10],
        [20, undefined],
        [60, 60],
      ],
    )
  })

  it('have units, and three digits', () => {
    assert.deepEqual(
      [
        formatFigure(0.0012345, 'seconds'),
        formatFigure(0.00001, 'seconds'),
        formatFigure(2.5, 'seconds'),
        formatFigure(0, 'seconds'),
        formatFigure(67_108_864, 'bytes'),
        formatFigure(12, 'bytes'),
        formatFigure(1_234_567, 'count'),
        formatFigure(0.3333, 'per second'),
        formatFigure(undefined, 'count'),
      ],
      ['1.23 ms', '10 µs', '2.5 s', '0 µs', '64 MiB', '12 B', '1,234,567', '0.333/s', '–'],
    )
  })

  it('have axes of round values that reach above them', () => {
    assert.deepEqual(axisTicks(0, 'count'), [0, 1])
    assert.deepEqual(axisTicks(3, 'count'), [0, 1, 2, 3])
    assert.deepEqual(axisTicks(11, 'count'), [0, 5, 10, 15])
    assert.deepEqual(axisTicks(100, 'per second'), [0, 50, 100])
    assert.deepEqual(
      axisTicks(100 * 2 ** 20, 'bytes').map((tick) => tick / 2 ** 20),
      [0, 32, 64, 96, 128],
    )
    for (const max of [0, 1e-6, 0.0007, 0.3, 7, 99, 12_345, 1e12])
      for (const unit of ['seconds', 'count', 'per second', 'bytes'] as const) {
        const ticks = axisTicks(max, unit)
        assert.ok(
          (ticks.at(-1) ?? -1) >= max && ticks.length >= 2 && ticks.length <= 7,
          `${max} ${unit}: ${ticks}`,
        )
      }
  })
})
