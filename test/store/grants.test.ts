import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidInputError } from '../../src/errors.ts'
import { GRANTS_MAX } from '../../src/limits.ts'
import { parseGrants } from '../../src/store/grants.ts'

function faultsOf(input: unknown): string[] {
  try {
    parseGrants(input)
  } catch (error) {
    if (error instanceof InvalidInputError) return error.faults.map(({ detail }) => detail)
    throw error
  }
  return []
}

describe('the grants of an account', () => {
  it('are kept in one form', () => {
    for (const [given, kept] of [
      [
        ['write', 'read'],
        ['read', 'write'],
      ],
      [['read', 'read'], ['read']],
      [['write?label=b=2&prefix=a/&label=a=1'], ['write?prefix=a%2F&label=a=1&label=b=2']],
      [['read?label=team=a&label=team=a'], ['read?label=team=a']],
      [['read?label=team%3Da', 'read?label=team=a&'], ['read?label=team=a']],
      [['read?label=a=x+y%26'], ['read?label=a=x%20y%26']],
      [['read?label=!env&label=env!=b'], ['read?label=!env&label=env!=b']],
      [['read?prefix=ä=%'.replace('%', '%25')], ['read?prefix=%C3%A4=%25']],
    ] as const) {
      assert.deepEqual(parseGrants(given), kept)
      assert.deepEqual(parseGrants(kept), kept)
    }
  })

  it('are refused with what is wrong with each', () => {
    for (const input of [
      undefined,
      null,
      'read',
      {},
      [],
      Array.from({ length: GRANTS_MAX + 1 }, () => 'read'),
    ])
      assert.deepEqual(faultsOf(input), ['must be a list of 1 to 16 grants'])
    for (const bad of [
      ...['', 'Read', 'admin', ' read', 'read ', 'write&prefix=a', '?prefix=a', 'read?', 'read?&'],
      ...['read?prefix=', 'read?label=', 'read?label=Team=a', 'read?prefix=a&prefix=a', 'read?q=a'],
      ...['read?name=a', 'read?id=1', 'read?prefix=%', 'read?prefix=%ff', 'read?prefix=\ud800'],
      ...[`read?prefix=${'a'.repeat(256)}`, 'read?sort=name', 'read?Prefix=a'],
      `read?${Array.from({ length: 33 }, (_, i) => `label=a=${i}`).join('&')}`,
    ]) {
      const [fault = '', ...others] = faultsOf([bad, 'read'])
      assert.deepEqual(others, [], bad)
      assert.ok(fault.startsWith(JSON.stringify(bad)), `${bad}: ${fault}`)
    }
    assert.equal(faultsOf(['reed', 'wright', 1]).length, 3)
    assert.deepEqual(faultsOf(['read?prefix=']), [
      '"read?prefix=" has a prefix that is not valid: it must not be empty',
    ])
    assert.match(faultsOf(['read?label=Team'])[0] ?? '', /that is not valid: the key "Team" is not a label:/)
  })
})
