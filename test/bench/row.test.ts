import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Figure } from './figure.ts'
import { assess, ratioAtLeast, ratioAtMost, rowsOf, type Target, valueAtMost } from './row.ts'
import { renderText } from './tables.ts'

const figure = 'latencyP50' satisfies Figure

function rowOf(subject: readonly number[], baseline: readonly number[] | undefined, target?: Target) {
  const series = (name: string, values: readonly number[]) => ({
    name,
    samples: values.map((value) => ({ [figure]: value })),
  })
  const [row] = rowsOf('work', series('subject', subject), baseline && series('other', baseline), {
    [figure]: target,
  })
  assert.ok(row)
  return row
}

describe('assess', () => {
  it('compares what was measured in the same round', () => {
    // The machine became three times as slow after the first round.
    const { ratio } = assess(rowOf([2, 6, 6], [1, 3, 3]))
    assert.deepEqual(ratio, { median: 2, min: 2, max: 2 })
  })

  const rounds = [2, 3, 4, 5, 6, 7, 8, 9, 10]
  const verdictOf = (values: readonly number[], target: Target) =>
    assess(rowOf(values, [...values].fill(1), target)).verdict

  it('says met or missed when the interval of the median is on one side of the target, limit included', () => {
    assert.equal(verdictOf(rounds, ratioAtMost(9)), 'met')
    assert.equal(verdictOf(rounds, ratioAtMost(2.9)), 'missed')
    assert.equal(verdictOf(rounds, ratioAtLeast(3)), 'met')
    assert.equal(verdictOf(rounds, ratioAtLeast(9.1)), 'missed')
  })

  it('cannot tell apart what lies inside the interval', () => {
    assert.deepEqual(assess(rowOf(rounds, undefined, valueAtMost(8.9))).interval, { low: 3, high: 9 })
    assert.equal(verdictOf(rounds, ratioAtMost(8.9)), 'cannot be told apart')
    assert.equal(verdictOf(rounds, ratioAtMost(3)), 'cannot be told apart')
    assert.equal(verdictOf(rounds, ratioAtLeast(9)), 'cannot be told apart')
    assert.equal(verdictOf(rounds, ratioAtLeast(3.1)), 'cannot be told apart')
  })

  it('does not let one disturbed round of nine decide', () => {
    assert.equal(verdictOf([1, 1, 1, 1, 1, 1, 1, 1, 90], ratioAtMost(1)), 'met')
    assert.equal(verdictOf([1, 1, 1, 1, 1, 1, 1, 80, 90], ratioAtMost(1)), 'cannot be told apart')
  })

  it('holds a value to its target whatever it is compared with', () => {
    assert.equal(assess(rowOf([5], [100], valueAtMost(4))).verdict, 'missed')
    assert.equal(assess(rowOf([4], undefined, valueAtMost(4))).verdict, 'met')
  })

  it('does not take what was not measured for met', () => {
    assert.equal(assess(rowOf([], [], ratioAtMost(2))).verdict, 'missed')
    assert.equal(assess(rowOf([1, 1], [], ratioAtMost(2))).verdict, 'missed')
    // All rounds but one: the interval would leave that one out.
    assert.equal(assess(rowOf(rounds, rounds.slice(1), ratioAtMost(99))).verdict, 'missed')
  })

  it('says nothing where nothing is asked for', () => {
    assert.equal('verdict' in assess(rowOf([1], [1])), false)
  })
})

describe('the text table', () => {
  const rows = [rowOf([1, 2, 3], [2, 2, 2], ratioAtMost(1.5)), rowOf([1234], undefined)]

  it('shows values, ratios with their spread, and the verdict', () => {
    assert.equal(
      renderText({ title: 'Title', rows }),
      [
        'Title',
        '  figure           connbook  compared with  ratio             target',
        'work',
        '  latency p50, ms  2.00      2.00 other     1.00 (0.50–1.50)  ≤ 1.5 ×  met',
        '  latency p50, ms  1,234.00',
      ].join('\n'),
    )
  })
})
