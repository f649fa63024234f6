import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { waitForLock } from '../../src/files/lock-wait.ts'

const lock = { release() {} }

describe('waitForLock', () => {
  it('takes a free lock at once, and one that becomes free when it does', async () => {
    for (const held of [0, 1, 3]) {
      let tries = 0
      const taken = await waitForLock(async () => (tries++ < held ? undefined : lock))
      assert.deepEqual([taken, tries], [lock, held + 1])
    }
  })

  it('does not hide why a lock cannot be taken', async () => {
    const broken = new Error('no disk')
    await assert.rejects(
      waitForLock(() => Promise.reject(broken)),
      broken,
    )
  })
})
