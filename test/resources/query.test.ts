import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidInputError } from '../../src/errors.ts'
import { checkQuery, parseChoices, parseQuery } from '../../src/resources/query.ts'

const names = ['sort', 'page'] as const

describe('a query', () => {
  it('gives the parameters, decoded', () => {
    assert.deepEqual(parseQuery('sort=%2Dname&page=a+b', names), {
      values: { sort: '-name', page: 'a b' },
      lists: {},
      faults: [],
    })
    assert.deepEqual(parseQuery('', names), { values: {}, lists: {}, faults: [] })
  })

  it('lists the values of a parameter that may be repeated, in their order', () => {
    assert.deepEqual(parseQuery('tag=b&page=1&tag=&tag=b', names, ['tag']), {
      values: { page: '1' },
      lists: { tag: ['b', '', 'b'] },
      faults: [],
    })
    const { lists, faults } = parseQuery('page=1&page=1&Tag=a', names, ['tag'])
    assert.deepEqual(lists, {})
    assert.deepEqual(faults, [
      { field: 'page', detail: 'is given twice' },
      { field: 'Tag', detail: 'is not a parameter here: sort, page or tag' },
    ])
  })

  it('has a fault for each parameter that is unknown or repeated, and keeps the last value', () => {
    const { values, faults } = parseQuery('sort=a&order=x&sort=b&Page=1&page=', names)
    assert.deepEqual(values, { sort: 'b', page: '' })
    assert.deepEqual(faults, [
      { field: 'order', detail: 'is not a parameter here: sort or page' },
      { field: 'sort', detail: 'is given twice' },
      { field: 'Page', detail: 'is not a parameter here: sort or page' },
    ])
  })

  it('treats an empty value as given', () => {
    assert.deepEqual(parseQuery('page=&page=', names).faults, [{ field: 'page', detail: 'is given twice' }])
  })

  it('does not treat object members as parameters', () => {
    const { values, faults } = parseQuery('__proto__=1&constructor=2', names)
    assert.deepEqual(Object.keys(values), [])
    assert.deepEqual(
      faults.map(({ field }) => field),
      ['__proto__', 'constructor'],
    )
  })

  it('is refused when it is not percent-encoded UTF-8', () => {
    for (const text of ['page=%', 'page=%zz', 'page=%ff'])
      assert.throws(() => parseQuery(text, names), InvalidInputError, text)
  })

  it('is refused with all its faults, and only when it has any', () => {
    checkQuery({ faults: [] })
    const faults = [
      { field: 'a', detail: 'x' },
      { field: 'b', detail: 'y' },
    ]
    assert.throws(
      () => checkQuery({ faults }),
      (error) => error instanceof InvalidInputError && error.faults.length === 2,
    )
  })
})

describe('a query of choices', () => {
  const choices = { format: ['json', 'csv', 'env'], skip: ['0', '1'] }

  it('has the values that are given', () => {
    assert.deepEqual(parseChoices('skip=1&format=csv', choices), { skip: '1', format: 'csv' })
    assert.deepEqual(parseChoices('', choices), {})
  })

  it('is refused with every faulty parameter', () => {
    assert.throws(
      () => parseChoices('format=JSON&skip=&x=1', choices),
      (error) => {
        assert.ok(error instanceof InvalidInputError)
        assert.deepEqual(error.faults, [
          { field: 'x', detail: 'is not a parameter here: format or skip' },
          { field: 'format', detail: 'must be json, csv or env' },
          { field: 'skip', detail: 'must be 0 or 1' },
        ])
        return true
      },
    )
  })
})
