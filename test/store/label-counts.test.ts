import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AnswerTooLargeError } from '../../src/errors.ts'
import { runAtOnce } from '../../src/scheduler.ts'
import { Configuration } from '../../src/store/configuration.ts'
import {
  countLabelValues,
  LABEL_KEYS_LISTED_MAX,
  LABEL_VALUES_LISTED_MAX,
} from '../../src/store/label-counts.ts'
import type { Labels } from '../../src/store/labels.ts'
import { ITEMS_A_STEP } from '../../src/store/slices.ts'
import { TextCounts } from '../../src/store/text-counts.ts'
import { draft } from '../support/store.ts'

function countsOf(all: readonly Labels[]) {
  const records = all.map((labels, i) => new Configuration(i + 1, { ...draft(`n${i}`), labels }))
  return runAtOnce(countLabelValues([records.slice(0, 2), records.slice(2)], () => true))
}

describe('the counts of labels, more different ones than are held at once', () => {
  const leaves = Array.from({ length: 50 }, (_, leaf) =>
    Array.from({ length: 20 }, (_, i) => {
      const id = 20 * leaf + i + 1
      const labels = {
        [`own-${id}`]: 'x',
        asset: `a${id}`,
        env: `e${id % 3}`,
        group: `g${id % 7},m${id},all of them`,
      }
      return new Configuration(id, { ...draft(`n${id}`), labels })
    }),
  )

  it('are the same', () => {
    const whole = runAtOnce(countLabelValues(leaves, () => true))
    assert.deepEqual([whole.labels[0]?.count, whole.more], [1_000, 1_003 - LABEL_KEYS_LISTED_MAX])
    assert.equal(whole.labels.find(({ key }) => key === 'group')?.more, 1_008 - LABEL_VALUES_LISTED_MAX)
    for (const textsMax of [150, 400, 1_000])
      assert.deepEqual(runAtOnce(countLabelValues(leaves, () => true, textsMax)), whole)
  })

  it('ask the filter once for each record', () => {
    let asked = 0
    const isOdd = ({ id }: Configuration) => {
      asked += 1
      return id % 2 === 1
    }
    const { labels } = runAtOnce(countLabelValues(leaves, isOdd, 150))
    assert.equal(asked, 1_000)
    assert.equal(labels[0]?.count, 500)
  })

  it('are refused when there are far more', () => {
    assert.throws(() => runAtOnce(countLabelValues(leaves, () => true, 10)), AnswerTooLargeError)
  })
})

describe('the counts of labels', () => {
  it('are empty without labels', () => {
    assert.deepEqual(countsOf([]), { labels: [], more: 0 })
    assert.deepEqual(countsOf([{}, {}]), { labels: [], more: 0 })
  })

  it('have the most frequent first, then by UTF-16', () => {
    const counts = countsOf([
      { env: 'prod', a: '😀' },
      { env: 'test', a: '\uff61', constructor: '' },
      { env: 'prod' },
      { env: 'a' },
    ])
    assert.deepEqual(counts, {
      labels: [
        {
          key: 'env',
          count: 4,
          values: [
            { value: 'prod', count: 2 },
            { value: 'a', count: 1 },
            { value: 'test', count: 1 },
          ],
          more: 0,
        },
        {
          key: 'a',
          count: 2,
          values: [
            { value: '😀', count: 1 },
            { value: '\uff61', count: 1 },
          ],
          more: 0,
        },
        { key: 'constructor', count: 1, values: [{ value: '', count: 1 }], more: 0 },
      ],
      more: 0,
    })
  })

  it('have each member of a group once a record, and the text of one without members', () => {
    const [group] = countsOf([
      { group: 'web, db,web' },
      { group: 'db' },
      { group: '' },
      { group: ' ,' },
    ]).labels
    assert.equal(group?.count, 4)
    assert.deepEqual(
      group?.values.map(({ value, count }) => [value, count]),
      [
        ['db', 2],
        ['', 1],
        [' ,', 1],
        ['web', 1],
      ],
    )
  })

  it('list the first keys and values, and count the others', () => {
    const keys = Array.from({ length: LABEL_KEYS_LISTED_MAX + 5 }, (_, i) => `k${String(i).padStart(3, '0')}`)
    const { labels, more } = countsOf([
      ...keys.map((key) => ({ [key]: '' })),
      { k104: '', k000: '' },
      { k104: '' },
    ])
    assert.equal(more, 5)
    assert.deepEqual(
      labels.map(({ key }) => key),
      ['k104', 'k000', ...keys.slice(1, LABEL_KEYS_LISTED_MAX - 1)],
    )
    const values = Array.from({ length: LABEL_VALUES_LISTED_MAX + 700 }, (_, i) => ({ env: `v${i}` }))
    const [env] = countsOf([...values, { env: 'v799' }]).labels
    assert.deepEqual([env?.count, env?.values.length, env?.more], [801, LABEL_VALUES_LISTED_MAX, 700])
    assert.deepEqual(env?.values[0], { value: 'v799', count: 2 })
  })

  it('look at equal labels once, however many records have them', (t) => {
    const add = t.mock.method(TextCounts.prototype, 'add')
    const [env, team] = countsOf(
      Array.from({ length: 600 }, (_, i) => ({ env: `e${i % 2}`, team: `t${i % 3}` })),
    ).labels
    assert.deepEqual([env?.count, env?.values[0]?.count], [600, 300])
    assert.deepEqual([team?.count, team?.values[0]?.count], [600, 200])
    // Six sets of two labels, once for their keys and once for their values.
    assert.equal(add.mock.callCount(), 6 * 2 * 2)
  })

  it('are put in order in steps, however many values there are', (t) => {
    const records = Array.from(
      { length: 10_000 },
      (_, i) => new Configuration(i + 1, { ...draft(`n${i}`), labels: { serial: `s${i}` } }),
    )
    const leaves = Array.from({ length: 100 }, (_, i) => records.slice(100 * i, 100 * (i + 1)))
    const work = countLabelValues(leaves, () => true, 4_000)
    let taken = 0
    const iterator = Object.getPrototypeOf(new Map().entries())
    const { next } = iterator
    t.mock.method(iterator, 'next', function (this: MapIterator<unknown>) {
      taken += 1
      return next.call(this)
    })
    let most = 0
    for (let isDone = false; !isDone; taken = 0) {
      isDone = work.next().done === true
      most = Math.max(most, taken)
    }
    assert.ok(most > 0 && most <= 2 * ITEMS_A_STEP, `${most} at once`)
  })
})
