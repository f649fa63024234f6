import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { jsonFormat } from '../../src/exchange/json-format.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'

describe('records as JSON', () => {
  it('are in the envelope of the list, with their ids', () => {
    const { start = '', between = '', end = '', encode } = jsonFormat
    const records = ['a', 'b "c"'].map((name, i) => new Configuration(i + 1, draft(name)))
    assert.deepEqual(JSON.parse(start + records.map(encode).join(between) + end), {
      configurations: records.map(({ id, name, hostname, port, username }) => {
        return { id, name, hostname, port, username }
      }),
    })
    assert.deepEqual(JSON.parse(start + end), { configurations: [] })
  })
})
