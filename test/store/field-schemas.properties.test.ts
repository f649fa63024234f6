import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import { recordFields } from '../../src/store/fields.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { anyText } from '../support/properties/texts.ts'

const likely = fc.constantFrom<unknown>(
  ...[
    '',
    '.',
    '..',
    '...',
    'a.b',
    'a\nb',
    '\u0085',
    '\ud800',
    'web1.example.net.',
    'bücher.example',
    '日本.jp',
  ],
  ...[
    '::1',
    '[::1]',
    'fe80::1%eth0',
    '[fe80::1%25eth0]',
    '::ffff:192.0.2.1',
    '192.0.2.1',
    '192.0.2',
    'a:22',
    'a b',
  ],
  ...['x'.repeat(253), 'x'.repeat(255), 'x'.repeat(256), '😀'.repeat(255), '😀'.repeat(256), 'a_b-c'],
  ...[0, 1, 22, 22.5, 65_535, 65_536, -1, 1e300, Number.MAX_SAFE_INTEGER, null, true, [], {}],
)
const value = fc.oneof(likely, anyText, fc.ipV6(), fc.ipV4(), fc.domain(), fc.integer(), fc.jsonValue())

describe('the schema of a field', () => {
  const ajv = new Ajv2020({ strict: true })
  for (const { name, check, schema } of recordFields) {
    const validate = ajv.compile(schema)

    it(`${name}: allows all that the check allows`, (t) => {
      holdFor(t, value, (each) => {
        if (check(each) === undefined) assert.ok(validate(each), JSON.stringify(each))
      })
    })

    it(`${name}: has an example that the check allows`, () => {
      for (const example of schema.examples ?? []) assert.equal(check(example), undefined)
      assert.equal(schema.examples?.length, 1)
    })
  }

  const atBounds: [string, unknown, boolean][] = [
    ['name', '', false],
    ['name', '😀'.repeat(255), true],
    ['name', 'x'.repeat(256), false],
    ['name', '.', false],
    ['name', '..', false],
    ['name', '...', true],
    ['name', 'a\u007f', false],
    ['name', 'a\u0085', false],
    ['hostname', 'x'.repeat(254), false],
    ['hostname', 'a b', false],
    ['hostname', 'a:22', false],
    ['hostname', 'http://a', false],
    ['hostname', 'fe80::1%eth0', true],
    ['port', 0, false],
    ['port', 1, true],
    ['port', 65_535, true],
    ['port', 65_536, false],
    ['port', 22.5, false],
    ['port', '22', false],
    ['username', 'x'.repeat(255), true],
    ['username', 'x'.repeat(256), false],
    ['username', 'a\tb', false],
  ]
  it('agrees with the check at every bound that it states', () => {
    for (const [name, each, isRight] of atBounds) {
      const field = recordFields.find((known) => known.name === name) ?? assert.fail(name)
      const told = `${name} ${JSON.stringify(each).slice(0, 20)}`
      assert.equal(field.check(each) === undefined, isRight, `${told}: check`)
      assert.equal(ajv.compile(field.schema)(each), isRight, `${told}: schema`)
    }
  })
})
