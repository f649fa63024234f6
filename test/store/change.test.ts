import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NewerFormError, TooManyChangesError } from '../../src/errors.ts'
import { LINE_BYTES_MAX } from '../../src/limits.ts'
import { runAtOnce } from '../../src/scheduler.ts'
import { ChangeReader, encodeChanges, parseStoredRecord } from '../../src/store/change.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft, someone } from '../support/store.ts'

const record = { id: 1, ...draft('a') }

describe('a stored change', () => {
  const newer: Record<string, unknown> = {
    'of another kind': { label: record },
    'of a known kind with an unknown member': { remove: 'a', by: 'admin' },
    'that adds with the name of a modification': { add: record, name: 'a' },
    'that both adds and removes': { add: record, remove: 'a' },
    'with a record that has an unknown member': { add: { ...record, note: 'x' } },
    'with a modified record that has an unknown member': {
      modify: { ...record, note: undefined },
      name: 'a',
    },
    'with the member __proto__': {
      add: JSON.parse(JSON.stringify(record).replace('{', '{"__proto__":1,')),
    },
  }
  for (const [what, change] of Object.entries(newer)) {
    it(`${what} is of a newer connbook`, () => {
      assert.throws(() => new ChangeReader().read(change), NewerFormError)
    })
  }

  it('that is not an object, or incomplete, is invalid', () => {
    for (const change of [null, 1, 'add', [], {}, { add: {} }, { modify: record }, { remove: 1 }])
      assert.throws(
        () => new ChangeReader().read(change),
        (error) => !(error instanceof NewerFormError),
      )
  })
})

describe('the changes of a large frame', () => {
  it('are encoded in pieces that are one array together', () => {
    const authorship = { actor: someone, time: '2026-01-01T00:00:00Z' }
    const changes = Array.from({ length: 5_000 }, (_, i) => {
      const add = new Configuration(i + 1, draft(`ä${i}`.padEnd(200, 'x')))
      return { add, authorship: i === 2_500 ? { ...authorship, time: '2026-01-01T00:00:01Z' } : authorship }
    })
    const pieces = runAtOnce(encodeChanges(changes))
    assert.ok(pieces.length > 2, `${pieces.length} pieces`)
    const reader = new ChangeReader()
    const read = JSON.parse(Buffer.concat(pieces).toString()).map((one: unknown) => reader.read(one))
    assert.deepEqual(read, changes)
  })
})

describe('changes that are too long for a frame', () => {
  it('are refused while they are encoded, before all of them are in memory', () => {
    // One record again and again: its text is made once.
    const add = new Configuration(1, draft('a', { labels: { note: 'x'.repeat(4_000) } }))
    let encoded = 0
    const changes = {
      *[Symbol.iterator]() {
        for (; encoded < 100_000; encoded++) yield { add }
      },
    }
    assert.throws(() => runAtOnce(encodeChanges(changes)), TooManyChangesError)
    assert.ok(encoded < LINE_BYTES_MAX / 4_000 + 100, `${encoded} changes`)
  })
})

describe('a stored record', () => {
  it('that is incomplete is invalid, whatever other members it has', () => {
    const { port: _, ...rest } = record
    assert.equal(parseStoredRecord({ ...rest, note: 'x' }), undefined)
  })

  it('names the unknown member', () => {
    assert.throws(() => parseStoredRecord({ ...record, 'no\u202ete': 1 }), {
      message:
        'it was written by a newer connbook: the member "no\\u202ete" of a record is unknown to this program',
    })
  })
})
