import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { type Change, ChangeReader } from '../../src/store/change.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { anyLabels } from '../support/properties/labels.ts'
import { anyText } from '../support/properties/texts.ts'

describe('a change', () => {
  const labels = fc.option(anyLabels, { nil: undefined })
  const fields = fc.record({
    name: anyText,
    hostname: anyText,
    port: fc.integer(),
    username: anyText,
    labels,
  })
  const record = fc
    .tuple(fc.integer({ min: 1, max: 2 ** 53 - 1 }), fields)
    .map(([id, some]) => new Configuration(id, some))
  const change: fc.Arbitrary<Change> = fc.oneof(
    record.map((add) => ({ add })),
    fc.tuple(record, anyText).map(([modify, name]) => ({ modify, name })),
    anyText.map((remove) => ({ remove })),
  )

  it('is read back as it was written', (t) => {
    holdFor(t, change, (written) => {
      const text = JSON.stringify(written)
      assert.equal(JSON.stringify(new ChangeReader().read(JSON.parse(text))), text)
    })
  })

  it('is refused with a member missing or of another type', (t) => {
    const odd = fc.constantFrom<unknown>(null, 0, -1, 1.5, 2 ** 53, '1', true, [], {}, { id: 1 }, undefined)
    const values = fc.tuple(
      change,
      fc.constantFrom('add', 'modify', 'name', 'id', 'hostname', 'port', 'username'),
      odd,
    )
    holdFor(t, values, ([written, member, value]) => {
      const input = JSON.parse(JSON.stringify(written))
      const holder = input.add ?? input.modify
      const spoilt = Object.hasOwn(input, member) ? input : holder
      if (spoilt === undefined || !Object.hasOwn(spoilt, member)) return
      const isSame =
        typeof spoilt[member] === typeof value &&
        (typeof value === 'string' || (member === 'port' && typeof value === 'number'))
      if (isSame || (member === 'id' && value === 1)) return
      if (value === undefined) delete spoilt[member]
      else spoilt[member] = value
      // Neither a string in place of a record nor a record in place of a string is valid.
      assert.throws(() => new ChangeReader().read(input), SyntaxError, JSON.stringify(input))
    })
  })

  it('is not read from any other JSON', (t) => {
    holdFor(t, fc.jsonValue({ maxDepth: 2 }), (input) =>
      assert.throws(() => new ChangeReader().read(input), SyntaxError),
    )
  })
})
