import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { batches, before, journalFile, last } from './journal-place.ts'

/**
 * Asserts that a torn tail is cut off, and kept in a file beside the journal.
 *
 * @param tail What is behind the last frame, or what is left of it.
 * @param step Bytes from one length of the last frame to the next.
 */
export async function assertCutOff(t: TestContext, tail: Buffer, step = 1): Promise<void> {
  // At length 0 this tail would itself be the valid last frame.
  for (let length = tail.equals(last) ? 1 : 0; length <= last.length; length += step) {
    const journal = await journalFile(t)
    const isWhole = length === last.length
    const good = Buffer.concat([before, isWhole ? last : ''].map((part) => Buffer.from(part)))
    const torn = isWhole ? tail : Buffer.concat([last.subarray(0, length), tail])
    await journal.write(good, torn)

    const kept = isWhole ? batches.flat() : batches.slice(0, -1).flat()
    assert.deepEqual(await journal.replay(), kept, `length ${length}`)
    assert.ok((await readFile(journal.path)).equals(good), `length ${length}`)
    const [aside, ...others] = await journal.tornFiles()
    assert.equal(aside !== undefined, torn.length > 0)
    assert.deepEqual(others, [])
    if (aside === undefined) continue
    assert.match(aside, new RegExp(`^journal\\.torn-${good.length}-[0-9a-f]{6}$`))
    assert.ok((await readFile(join(journal.path, '..', aside))).equals(torn))

    assert.deepEqual(await journal.replay(), kept)
    assert.deepEqual(await journal.tornFiles(), [aside])
  }
}
