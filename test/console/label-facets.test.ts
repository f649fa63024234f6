import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { choose, facetPaths, facetsOf, type LabelsAnswer } from '../../src/console/label-facets.ts'

const search = {
  q: 'web',
  filters: [
    ['port', '22'],
    ['label', 'env=prod'],
    ['label', 'env=a=b'],
    ['label', 'role'],
    ['label', '!old'],
    ['label', 'team!=x'],
  ],
} as const
const counts = (...keys: [string, [string, number][], number?][]): LabelsAnswer => ({
  labels: keys.map(([key, values, more = 0]) => ({
    key,
    values: values.map(([value, count]) => ({ value, count })),
    more,
  })),
  more: 0,
})

describe('the labels that one can filter by', () => {
  it('are asked for without the filters of their own key', () => {
    const rest = 'label=%21old&label=team%21%3Dx&q=web'
    assert.deepEqual(
      [...facetPaths(search)],
      [
        [undefined, `v1/labels?port=22&label=env%3Dprod&label=env%3Da%3Db&label=role&${rest}`],
        ['env', `v1/labels?port=22&label=role&${rest}`],
        ['role', `v1/labels?port=22&label=env%3Dprod&label=env%3Da%3Db&${rest}`],
      ],
    )
  })

  it('have those first that are chosen, also values that nothing has', () => {
    const read = new Map([
      [undefined, counts(['env', [['prod', 1]]], ['team', [['y', 1]], 3])],
      [
        'env',
        counts(
          ['team', [['y', 2]]],
          [
            'env',
            [
              ['prod', 5],
              ['test', 2],
            ],
            1,
          ],
        ),
      ],
      ['role', counts()],
    ])
    assert.deepEqual(facetsOf(search, read), [
      {
        key: 'env',
        more: 0,
        values: [
          { value: 'prod', count: 5, isChosen: true },
          { value: 'test', count: 2, isChosen: false },
          { value: 'a=b', isChosen: true },
        ],
      },
      { key: 'role', more: 0, values: [] },
      { key: 'team', more: 3, values: [{ value: 'y', count: 1, isChosen: false }] },
    ])
  })

  it('are taken up and left out one by one', () => {
    const chosen = choose(search.filters, 'env=test', true)
    assert.deepEqual(chosen, [...search.filters, ['label', 'env=test']])
    assert.deepEqual(choose(chosen, 'env=test', false), search.filters)
  })
})
