import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { findNear } from '../../src/command-line/nearest.ts'

describe('findNear', () => {
  const rows: [text: string, candidates: string[], near: string[]][] = [
    ['wbe1', ['db1', 'web1', 'web2'], ['web1']],
    ['web', ['web10', 'web2', 'wb', 'WEB'], ['WEB', 'web2', 'wb']],
    ['prod', ['a-PROD-1', 'b', 'prod-x-prod-x'], ['a-PROD-1', 'prod-x-prod-x']],
    ['pr', ['a-prod', 'b-prod'], []],
    ['x', ['y', 'zz', 'xyz'], ['y']],
    ['nothing', ['web1'], []],
    ['web', [], []],
  ]
  for (const [text, candidates, near] of rows)
    it(`${text} of ${candidates.join(', ')}`, () => assert.deepEqual(findNear(text, candidates, 3), near))

  it('gives no more than it may', () => {
    assert.deepEqual(findNear('web', ['web1', 'web2', 'web3'], 2), ['web1', 'web2'])
  })
})
