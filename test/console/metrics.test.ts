import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { axisTicks, formatFigure } from '../../src/console/figure-text.ts'
import {
  bucketsOf,
  findValue,
  growth,
  parseMetrics,
  quantileOf,
  sumBy,
} from '../../src/console/metrics-figures.ts'
import { ALL_ROUTES, answerTimes, figures, routesIn } from '../../src/console/operation-figures.ts'
import { LOOK_MS, OperationRecord, SPAN_MS } from '../../src/console/operation-record.ts'
import { METRICS_KEPT_MS } from '../../src/resources/metrics.ts'
import { holdClock } from '../support/held-clock.ts'
import { start } from '../support/service.ts'

const requests = (counts: Record<string, number>) =>
  parseMetrics(
    Object.entries(counts)
      .map(
        ([status, count]) =>
          `connbook_http_requests_total{route="/x",method="GET",status="${status}"} ${count}`,
      )
      .join('\n'),
  )
const [byStatus] = figures

describe('the text of the metrics', () => {
  it('is read with its labels, whatever they hold', () => {
    const text =
      '# HELP a b\n# TYPE a counter\na 1\nb{x="1",y="a\\"b\\\\c\\nd,}"} 2.5e-7\nc{le="+Inf"} +Inf\nd NaN\n\nrubbish {\n'
    const samples = parseMetrics(text)
    assert.deepEqual(samples.slice(0, 3), [
      { name: 'a', labels: {}, value: 1 },
      { name: 'b', labels: { x: '1', y: 'a"b\\c\nd,}' }, value: 2.5e-7 },
      { name: 'c', labels: { le: '+Inf' }, value: Number.POSITIVE_INFINITY },
    ])
    assert.equal(samples.length, 4)
    assert.ok(Number.isNaN(samples[3]?.value))
  })

  it('has every figure that the pictures show', async (t) => {
    const clock = holdClock()
    const service = await start(t, { clock })
    const headers = { Authorization: await service.bearer() }
    await service.call('/configurations/', {
      method: 'POST',
      headers,
      body: '{"name":"a","hostname":"h","port":1,"username":"u"}',
    })
    const read = async () => {
      clock.advance(METRICS_KEPT_MS)
      return parseMetrics(await (await service.call('/metrics', { headers })).text())
    }
    const [before, now] = [await read(), await read()]
    for (const each of figures) {
      const values = each.read(now, before, 1)
      const earlier = each.read(now, [], 1)
      for (const line of each.lines) assert.ok(line in values || line in earlier, `${each.title}: ${line}`)
    }
    assert.equal(findValue(now, 'connbook_records'), 1)
    assert.equal(findValue(parseMetrics('a NaN'), 'a'), undefined)
    assert.ok(routesIn(now).includes('/metrics'))
    assert.ok((answerTimes('/configurations/').read(now, [], 1).p99 ?? 0) > 0)
    assert.ok((answerTimes(ALL_ROUTES).read(now, before, 1).p50 ?? 0) > 0)
  })
})

describe('figures', () => {
  it('are rates, which never fall below zero when a server starts again', () => {
    assert.deepEqual(
      byStatus?.read(requests({ 200: 30, 204: 5, 404: 4 }), requests({ 200: 10, 404: 4 }), 5),
      {
        '2xx': 5,
        '3xx': 0,
        '4xx': 0,
        '5xx': 0,
      },
    )
    assert.equal(byStatus?.read(requests({ 200: 10 }), requests({ 200: 1_000 }), 5)['2xx'], 2)
    assert.deepEqual(byStatus?.read(requests({ 200: 10 }), undefined, 0), {})
    assert.deepEqual(
      growth(
        new Map([['a', 5]]),
        new Map([
          ['a', 3],
          ['b', 2],
        ]),
      ),
      new Map([
        ['a', 3],
        ['b', 2],
      ]),
    )
  })

  it('are quantiles by linear interpolation within a bucket', () => {
    const lines = [
      ['0.1', 0],
      ['0.2', 10],
      ['0.4', 20],
      ['+Inf', 20],
    ].map(([le, count]) => `t_bucket{le="${le}"} ${count}`)
    const buckets = bucketsOf(parseMetrics(lines.join('\n')), 't')
    assert.equal(quantileOf(buckets, 0.25)?.toFixed(3), '0.150')
    assert.equal(quantileOf(buckets, 0.5)?.toFixed(3), '0.200')
    assert.equal(quantileOf(buckets, 0.75)?.toFixed(3), '0.300')
    assert.equal(quantileOf(new Map(), 0.5), undefined)
    assert.equal(
      quantileOf(
        new Map([
          [1, 0],
          [Number.POSITIVE_INFINITY, 3],
        ]),
        0.99,
      ),
      1,
    )
  })

  it('add up several routes', () => {
    const metrics = parseMetrics(
      't_bucket{route="a",le="1"} 1\nt_bucket{route="b",le="1"} 2\nt_bucket{route="b",le="+Inf"} 3',
    )
    assert.deepEqual(bucketsOf(metrics, 't', { route: 'a' }), new Map([[1, 1]]))
    assert.deepEqual(
      bucketsOf(metrics, 't'),
      new Map([
        [1, 3],
        [Number.POSITIVE_INFINITY, 0],
      ]),
    )
    assert.deepEqual(
      sumBy(metrics, 't_bucket', ({ route }) => route),
      new Map([
        ['a', 1],
        ['b', 5],
      ]),
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

describe('the record of the operation', () => {
  const kept = () => {
    const record = new OperationRecord()
    if (byStatus !== undefined) record.keep(byStatus)
    return {
      record,
      values: () => record.moments(byStatus ?? assert.fail()).map(({ values }) => values['2xx']),
    }
  }

  it('has no rate at the first reading, after a gap, and where the server was away', () => {
    const { record, values } = kept()
    record.take(0, requests({ 200: 10 }))
    record.take(LOOK_MS, requests({ 200: 20 }))
    record.take(2 * LOOK_MS, undefined)
    record.take(3 * LOOK_MS, requests({ 200: 30 }))
    record.take(4 * LOOK_MS, requests({ 200: 40 }))
    record.take(40 * LOOK_MS, requests({ 200: 50 }))
    assert.deepEqual(values(), [undefined, 2, undefined, undefined, 2, undefined, undefined])
  })

  it('forgets what is older than a quarter of an hour, and what a clock that was put back leaves in the future', () => {
    const { record, values } = kept()
    for (let looks = 0; looks < 1_000; looks += 1) record.take(looks * LOOK_MS, requests({ 200: looks }))
    assert.equal(values().length, SPAN_MS / LOOK_MS)
    record.take(0, requests({ 200: 1 }))
    assert.equal(values().length, 1)
  })
})
