import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { shownModifications, shownRemovals } from '../../src/audit/shown-changes.ts'
import { CHANGES_SHOWN_MAX } from '../../src/limits.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'

const COUNT = 50_000
/** Has no factor in common with COUNT. */
const STEP = 19_997

/** Records in an order that has little to do with their ids, and how often these were read. */
function scattered() {
  let reads = 0
  const records = Array.from({ length: COUNT }, (_, i) => {
    const id = 1 + ((i * STEP) % COUNT)
    const record = new Configuration(id, draft(`r${id}`))
    Object.defineProperty(record, 'id', {
      get() {
        reads += 1
        return id
      },
    })
    return record
  })
  return { records, reads: () => reads }
}

const firstNames = Array.from({ length: CHANGES_SHOWN_MAX }, (_, i) => `r${i + 1}`)

describe('the changes that a dry run shows', () => {
  it('are the first ones by id, without sorting all', () => {
    const { records, reads } = scattered()
    const modified = records.map((before) => ({ before, after: before }))
    assert.deepEqual(
      shownModifications({ modified }).map(({ name }) => name),
      firstNames,
    )
    assert.ok(reads() < 20 * COUNT, `${reads()} ids were read`)
  })

  it('are the first ones of those that are removed, too', () => {
    const { records, reads } = scattered()
    assert.deepEqual(
      shownRemovals({ removed: records }).map(({ name }) => name),
      firstNames,
    )
    assert.ok(reads() < 20 * COUNT, `${reads()} ids were read`)
  })

  it('are all, if they are few', () => {
    const removed = [3, 1, 2].map((id) => new Configuration(id, draft(`r${id}`)))
    assert.deepEqual(
      shownRemovals({ removed }).map(({ record }) => record.id),
      [1, 2, 3],
    )
  })
})
