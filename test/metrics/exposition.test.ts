import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { formatMetrics } from '../../src/metrics/exposition.ts'
import { Counter, type Family, Histogram, type Sample } from '../../src/metrics/family.ts'

function gauge(...samples: Sample<number>[]): Family {
  return { name: 'g', help: 'Help.', type: 'gauge', samples: () => samples }
}

function linesOf(...families: Family[]): string[] {
  const text = formatMetrics(families)
  assert.ok(text === '' || text.endsWith('\n'))
  return text.split('\n').slice(0, -1)
}

describe('the text format', () => {
  it('has help, type and a line for each sample, family by family', () => {
    const counter = new Counter()
    counter.increment()
    counter.increment(41)
    const family: Family = {
      name: 'c_total',
      help: 'Things.',
      type: 'counter',
      samples: () => [{ value: counter.value }],
    }
    assert.deepEqual(linesOf(family, gauge({ labels: { a: 'x', b: 'y' }, value: 1.5 })), [
      '# HELP c_total Things.',
      '# TYPE c_total counter',
      'c_total 42',
      '# HELP g Help.',
      '# TYPE g gauge',
      'g{a="x",b="y"} 1.5',
    ])
  })

  it('reads values only when it is requested', () => {
    let value = 1
    const family: Family = { name: 'g', help: 'h', type: 'gauge', samples: () => [{ value }] }
    value = 2
    assert.equal(linesOf(family).at(-1), 'g 2')
    value = 3
    assert.equal(linesOf(family).at(-1), 'g 3')
  })

  it('leaves a family without samples empty', () => {
    assert.deepEqual(linesOf(gauge()), ['# HELP g Help.', '# TYPE g gauge'])
  })

  it('escapes backslash, quote and line feed in labels', () => {
    const lines = linesOf(gauge({ labels: { a: 'C:\\n "x"\nnext_metric 1', b: 'ü{},=' }, value: 0 }))
    assert.equal(lines.at(-1), 'g{a="C:\\\\n \\"x\\"\\nnext_metric 1",b="ü{},="} 0')
    assert.equal(lines.length, 3)
  })

  it('escapes backslash and line feed in help, but not quotes', () => {
    const family: Family = { name: 'g', help: 'a\\b\n"c"', type: 'gauge', samples: () => [] }
    assert.equal(linesOf(family)[0], '# HELP g a\\\\b\\n"c"')
  })

  const numbers: [value: number, text: string][] = [
    [0, '0'],
    [-1.25, '-1.25'],
    [1e21, '1e+21'],
    [5e-7, '5e-7'],
    [2 ** 53, '9007199254740992'],
    [Number.POSITIVE_INFINITY, '+Inf'],
    [Number.NEGATIVE_INFINITY, '-Inf'],
    [Number.NaN, 'NaN'],
  ]
  for (const [value, text] of numbers) {
    it(`writes ${text}`, () => assert.equal(linesOf(gauge({ value })).at(-1), `g ${text}`))
  }

  it('writes a histogram with cumulative buckets, sum and count', () => {
    const histogram = new Histogram([0.25, 1, 5])
    for (const value of [0, 0.25, 0.5, 1, 1.5, 4, 100]) histogram.observe(value)
    const family: Family = {
      name: 'h_seconds',
      help: 'h',
      type: 'histogram',
      samples: () => [{ labels: { route: '/' }, value: histogram }],
    }
    assert.deepEqual(linesOf(family).slice(2), [
      'h_seconds_bucket{route="/",le="0.25"} 2',
      'h_seconds_bucket{route="/",le="1"} 4',
      'h_seconds_bucket{route="/",le="5"} 6',
      'h_seconds_bucket{route="/",le="+Inf"} 7',
      'h_seconds_sum{route="/"} 107.25',
      'h_seconds_count{route="/"} 7',
    ])
  })

  it('writes a summary with its quantiles, sum and count', () => {
    const value = { quantiles: [[0.5, Number.NaN] as const, [1, 2] as const], sum: 3, count: 4 }
    const family: Family = { name: 's', help: 'h', type: 'summary', samples: () => [{ value }] }
    assert.deepEqual(linesOf(family).slice(2), [
      's{quantile="0.5"} NaN',
      's{quantile="1"} 2',
      's_sum 3',
      's_count 4',
    ])
  })
})
