import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { TooManyChangesError } from '../../src/errors.ts'
import { LINE_BYTES_MAX } from '../../src/limits.ts'
import { draft, someone } from '../support/store.ts'
import { assertRestoredWhole, openFilled } from './imported.ts'

describe('an import into a store', () => {
  it('is restored completely or not at all when its frame is cut at any byte', (t) =>
    assertRestoredWhole(t, 1))

  it('is refused, and changes nothing, when it is too large to be read back', async (t) => {
    const { store } = await openFilled(t)
    const long = '\u{1f5c4}'.repeat(255)
    const count = Math.ceil(LINE_BYTES_MAX / (2 * 4 * 255))
    const many = Array.from({ length: count }, (_, i) =>
      draft(`${i}${long}`.slice(0, 500), { username: long }),
    )
    await assert.rejects(store.importAll(someone, many, 'merge'), TooManyChangesError)
    assert.deepEqual([store.count, store.revision], [3, 3])
    assert.equal((await store.add(someone, draft('next'))).id, 4)
  })
})
