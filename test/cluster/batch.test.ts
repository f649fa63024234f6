import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Batch } from '../../src/cluster/batch.ts'
import type { Change } from '../../src/store/change.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'

const [a, b] = [new Configuration(1, draft('a')), new Configuration(2, draft('b'))]
const changed = new Configuration(1, draft('a', { port: 7 }))
const renamed = new Configuration(1, draft('b'))

function batchOf(change: Change, seen: Configuration | undefined): Batch {
  return new Batch([{ change, seen: seen?.json, until: 0, resolve: () => {}, reject: () => {} }])
}

describe('a batch fits the records', () => {
  for (const { title, change, seen, records, expected } of [
    { title: 'an added name is free', change: { add: a }, seen: undefined, records: [], expected: true },
    { title: 'it is taken', change: { add: a }, seen: undefined, records: [a], expected: false },
    {
      title: 'a modified record is as it was',
      change: { modify: changed, name: 'a' },
      seen: a,
      records: [a],
      expected: true,
    },
    {
      title: 'it is another',
      change: { modify: a, name: 'a' },
      seen: a,
      records: [changed],
      expected: false,
    },
    {
      title: 'a removed record is as it was',
      change: { remove: 'a' },
      seen: a,
      records: [a],
      expected: true,
    },
    { title: 'it is gone', change: { remove: 'a' }, seen: a, records: [], expected: false },
    {
      title: 'a new name is free',
      change: { modify: renamed, name: 'a' },
      seen: a,
      records: [a],
      expected: true,
    },
    {
      title: 'the new name is taken',
      change: { modify: renamed, name: 'a' },
      seen: a,
      records: [a, b],
      expected: false,
    },
  ])
    it(`${expected ? '' : 'not '}when ${title}`, () => {
      const find = (name: string) => records.find((record) => record.name === name)
      assert.equal(batchOf(change, seen).isFitFor(find), expected)
    })
})
