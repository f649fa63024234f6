import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { waitForLock } from '../../src/files/lock-wait.ts'
import { LOCK_PAUSE_MS, LOCK_WAIT_MS } from '../../src/limits.ts'

const lock = { release() {} }

describe('waitForLock', () => {
  it('takes a free lock at once, and one that becomes free when it does', async () => {
    for (const held of [0, 1, 3]) {
      let tries = 0
      const taken = await waitForLock(async () => (tries++ < held ? undefined : lock))
      assert.deepEqual([taken, tries], [lock, held + 1])
    }
  })

  it('gives up after a while, and has tried often until then', async () => {
    let tries = 0
    const take = () => {
      tries += 1
      return undefined
    }
    const begun = performance.now()
    assert.equal(await waitForLock(take), undefined)
    assert.ok(performance.now() - begun >= LOCK_WAIT_MS - 1)
    assert.ok(tries > 1 && tries < (2 * LOCK_WAIT_MS) / LOCK_PAUSE_MS)
  })

  it('does not hide why a lock cannot be taken', async () => {
    const broken = new Error('no disk')
    await assert.rejects(
      waitForLock(() => Promise.reject(broken)),
      broken,
    )
  })
})
