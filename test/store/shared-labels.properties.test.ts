import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { areSameLabels } from '../../src/store/labels.ts'
import { sharedLabels } from '../../src/store/shared-labels.ts'
import { holdFor } from '../support/properties/hold-property.ts'

describe('any shared labels', () => {
  it('are one object for equal labels, and never for others', (t) => {
    // Such values could be taken for the next key.
    const value = fc.constantFrom('', 'x', '1:x', 'xb=1:y', 'x\nb=y', '=')
    const labels = fc.dictionary(fc.constantFrom('a', 'b', 'ab'), value, {
      minKeys: 1,
      noNullPrototype: true,
    })
    holdFor(t, fc.tuple(labels, labels), ([one, other]) => {
      const [shared, second] = [sharedLabels(one), sharedLabels(other)]
      assert.deepEqual([shared, second], [one, other])
      assert.equal(shared === second, areSameLabels(one, other))
    })
  })
})
