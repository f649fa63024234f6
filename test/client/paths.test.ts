import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { listPath, queryOf, recordPath } from '../../src/client/paths.ts'

describe('the path of a record', () => {
  it('carries every name', () => {
    assert.equal(recordPath('web1'), '/configurations/web1')
    assert.equal(recordPath('a/b?c#d%2F é&..'), '/configurations/a%2Fb%3Fc%23d%252F%20%C3%A9%26..')
  })
})

describe('the query of a list', () => {
  it('has what is given, a list as often as it has entries', () => {
    const values = { q: 'a&b=c', sort: undefined, port: 22, label: ['x=y', 'z+ä'] }
    const query = '?q=a%26b%3Dc&port=22&label=x%3Dy&label=z%2B%C3%A4'
    assert.equal(queryOf(values), query)
    assert.equal(listPath(values), `/configurations/${query}`)
    assert.deepEqual(
      [...new URLSearchParams(query)],
      [
        ['q', 'a&b=c'],
        ['port', '22'],
        ['label', 'x=y'],
        ['label', 'z+ä'],
      ],
    )
  })

  it('is empty without values, and keeps empty texts', () => {
    assert.equal(queryOf({ q: undefined, label: [] }), '')
    assert.equal(listPath(), '/configurations/')
    assert.equal(queryOf({ q: '' }), '?q=')
  })
})
