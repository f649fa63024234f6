import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { changesBetween } from '../../src/audit/audit-line.ts'
import { exportFormats } from '../../src/exchange/export-formats.ts'
import { ImportReader } from '../../src/exchange/import-reader.ts'
import { ChangeReader } from '../../src/store/change.ts'
import {
  Configuration,
  type NewConfiguration,
  parseConfigurationPatch,
} from '../../src/store/configuration.ts'
import { type FieldName, fieldNames, recordFields } from '../../src/store/fields.ts'
import { encoded } from '../support/store.ts'

/** Two different valid values of each field. A field without an entry does not compile. */
const samples: Record<FieldName, readonly [string | number, string | number]> = {
  name: ['a', 'b'],
  hostname: ['a.example', 'b.example'],
  port: [22, 23],
  username: ['ops', 'root'],
}

function sample(which: 0 | 1): NewConfiguration {
  const fields = fieldNames.map((name) => [name, samples[name][which]])
  return Object.fromEntries(fields) as unknown as NewConfiguration
}

describe('the table of fields', () => {
  const record = new Configuration(7, sample(0))

  it('has every field in the record, in its order', () => {
    assert.deepEqual(Object.keys(record), ['id', ...fieldNames])
    assert.deepEqual(JSON.parse(record.json), { id: 7, ...sample(0) })
  })

  it('has no field that a journal loses', () => {
    const stored = JSON.parse(encoded([{ add: record }]))[0]
    const read = new ChangeReader().read(stored)
    assert.ok('add' in read)
    assert.deepEqual(JSON.parse(read.add.json), stored.add)
  })

  it('has no field that an export and import as CSV or JSON loses', () => {
    for (const format of ['csv', 'json'] as const) {
      const { start = '', encode, end = '' } = exportFormats[format]
      const reader = new ImportReader(format, 1)
      reader.read(Buffer.from(start + encode(record) + end))
      const { drafts, faults, warnings } = reader.end()
      assert.deepEqual([drafts, faults, warnings], [[sample(0)], [], []])
    }
  })

  for (const { name, check, isStored, isRequired } of recordFields) {
    const [one, other] = samples[name]

    it(`accepts a valid ${name}, also in a patch`, () => {
      assert.deepEqual([check(one), isStored(one)], [undefined, true])
      assert.deepEqual(parseConfigurationPatch({ [name]: one }), { [name]: one })
    })

    it(`detects a change of ${name}, and none when it is the same`, () => {
      const changed = record.with({ [name]: other })
      assert.equal(changed[name], other)
      assert.deepEqual(changesBetween(record, changed).changed, { [name]: { before: one, after: other } })
      assert.equal(record.with({ [name]: one }), record)
    })

    it(`does not read a stored record without a ${name} when every record has one`, () => {
      const { [name]: _, ...rest } = JSON.parse(record.json)
      if (isRequired) assert.throws(() => new ChangeReader().read({ add: rest }), SyntaxError)
      assert.throws(() => new ChangeReader().read({ add: { ...rest, [name]: null } }), SyntaxError)
    })
  }
})
