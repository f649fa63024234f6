import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Figure } from './figure.ts'
import { assess, ratioAtLeast, ratioAtMost, rowsOf, type Target, valueAtMost } from './row.ts'
import { renderMarkdown, renderText } from './tables.ts'

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

  it('lets the median meet a target, limit included', () => {
    assert.equal(assess(rowOf([1, 2, 9], [1, 1, 1], ratioAtMost(2))).isMet, true)
    assert.equal(assess(rowOf([1, 2, 9], [1, 1, 1], ratioAtMost(1.9))).isMet, false)
    assert.equal(assess(rowOf([1, 2, 9], [1, 1, 1], ratioAtLeast(2))).isMet, true)
    assert.equal(assess(rowOf([1, 2, 9], [1, 1, 1], ratioAtLeast(2.1))).isMet, false)
  })

  it('holds a value to its target whatever it is compared with', () => {
    assert.equal(assess(rowOf([5], [100], valueAtMost(4))).isMet, false)
    assert.equal(assess(rowOf([4], undefined, valueAtMost(4))).isMet, true)
  })

  it('does not take what was not measured for met', () => {
    assert.equal(assess(rowOf([], [], ratioAtMost(2))).isMet, false)
    assert.equal(assess(rowOf([1, 1], [], ratioAtMost(2))).isMet, false)
  })

  it('says nothing where nothing is asked for', () => {
    assert.equal('isMet' in assess(rowOf([1], [1])), false)
  })
})

describe('the tables', () => {
  const rows = [rowOf([1, 2, 3], [2, 2, 2], ratioAtMost(1)), rowOf([1234], undefined)]

  it('show values, ratios with their spread, and the verdict', () => {
    assert.equal(
      renderText({ title: 'Title', rows }),
      [
        'Title',
        '  figure           connbook  compared with  ratio             target',
        'work',
        '  latency p50, ms  2.00      2.00 other     1.00 (0.50–1.50)  ≤ 1 ×   met',
        '  latency p50, ms  1,234.00',
      ].join('\n'),
    )
  })

  it('in Markdown, leave out what has no target', () => {
    const [, , ...lines] = renderMarkdown([{ title: 'Title', rows }]).split('\n')
    assert.deepEqual(lines, ['| work | latency p50, ms | other | 1.00 (0.50–1.50) × | ≤ 1 × | met |'])
  })
})
