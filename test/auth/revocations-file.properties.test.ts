import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { readRevocations } from '../../src/auth/revocations-file.ts'
import { dataPaths } from '../../src/files/data-folder.ts'
import { holdLaterFor } from '../support/properties/hold-property.ts'
import { hasOnly, odd, spoilt } from '../support/properties/spoilt.ts'
import { anyText, shortName } from '../support/properties/texts.ts'

const folder = dataPaths('/data')

describe('ended credentials', () => {
  it('are read from all changes before the first invalid one', async (t) => {
    const change = fc.oneof(
      { weight: 4, arbitrary: fc.record({ jti: shortName, exp: fc.nat() }) as fc.Arbitrary<unknown> },
      { weight: 2, arbitrary: fc.record({ passed: fc.nat() }) },
      { weight: 1, arbitrary: spoilt(fc.record({ jti: anyText, exp: fc.nat() }), ['jti', 'exp']) },
      { weight: 1, arbitrary: odd },
    )
    await holdLaterFor(t, fc.array(change, { maxLength: 4 }), async (changes) => {
      const ended = new Map<string, number>()
      let passed = 0
      let isGood = true
      for (const each of changes) {
        const { jti, exp, passed: moment } = Object(each)
        const isKnown = (members: string[]) => hasOnly(Object(each), members)
        if (typeof jti === 'string' && typeof exp === 'number' && isKnown(['jti', 'exp'])) ended.set(jti, exp)
        else if (typeof moment === 'number' && isKnown(['passed'])) passed = Math.max(passed, moment)
        else isGood = false
      }
      const end = { size: 0, crc: 0, revision: 0, beforeLast: 0, tornBytes: 0 }
      const reading = readRevocations(
        {
          async read(visit) {
            for (const [i, each] of changes.entries()) visit(each, i + 1)
            return end
          },
        },
        folder,
      )
      if (isGood) assert.deepEqual(await reading, { ended, passed, end })
      else await assert.rejects(reading, SyntaxError)
    })
  })
})
