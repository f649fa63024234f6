import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { queryOf, SELECTED_MAX, Selection } from '../../src/console/selection.ts'

const prod = { q: 'web', filters: [['label', 'env=prod']] as const }
const all = { q: '', filters: [] }

describe('the selection of the console', () => {
  it('is one filter of ids, or the search itself', () => {
    const selection = new Selection()
    selection.set([7, 8], true, [7, 8, 9])
    assert.equal(queryOf(selection.target), 'id=7,8')
    selection.set([7], false, [7, 8, 9])
    assert.equal(queryOf(selection.target), 'id=8')
    selection.selectAll(prod)
    assert.equal(queryOf(selection.target), 'label=env%3Dprod&q=web')
    selection.selectAll(all)
    assert.equal(queryOf(selection.target), '')
    assert.equal(selection.has(1), true)
  })

  it('is the page without what is taken out of all', () => {
    const selection = new Selection()
    selection.selectAll(prod)
    selection.set([2], true, [1, 2, 3])
    assert.equal(selection.search, prod)
    selection.set([2], false, [1, 2, 3])
    assert.equal(queryOf(selection.target), 'id=1,3')
  })

  it('takes as many single records as the filter takes', () => {
    const selection = new Selection()
    const ids = Array.from({ length: SELECTED_MAX }, (_, place) => place + 1)
    assert.equal(selection.set(ids, true, []), true)
    assert.equal(selection.set([SELECTED_MAX + 1], true, []), false)
    assert.equal(selection.set([SELECTED_MAX], true, []), true)
    assert.equal(selection.size, SELECTED_MAX)
  })

  it('keeps single records in another search, and not all of the one before', () => {
    const selection = new Selection()
    selection.set([1], true, [1])
    selection.showSearch(prod)
    assert.equal(selection.size, 1)
    selection.selectAll(prod)
    selection.showSearch({ ...prod })
    assert.equal(selection.has(1), true)
    selection.showSearch(all)
    assert.equal(selection.has(1), false)
  })

  it('forgets records that are gone', () => {
    const selection = new Selection()
    selection.set([1, 2, 3], true, [])
    assert.equal(selection.forget(2, 4), true)
    assert.equal(selection.forget(2), false)
    selection.keepOnly(new Set([3, 4]))
    assert.equal(queryOf(selection.target), 'id=3')
  })
})
