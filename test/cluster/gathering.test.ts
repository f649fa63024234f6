import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { BATCH_CHANGES_MAX, GATHERING_MS_MAX, GATHERING_PAUSE_MS } from '../../src/limits.ts'
import { Gathering } from '../../src/storage/etcd/gathering.ts'

/** A gathering at a held time, after a batch of 10 ms. */
function setUp(t: TestContext, callers: number) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const gathering = new Gathering()
  let [waiting, now, isComplete] = [0, 10, false]
  gathering.ended(callers, 0, 10)
  const wait = (count: number) => {
    waiting = count
    isComplete = false
    void gathering
      .complete(
        () => waiting,
        () => now,
      )
      .then(() => (isComplete = true))
  }
  const come = () => {
    waiting += 1
    gathering.came()
  }
  const pass = (ms: number) => {
    now += ms
    t.mock.timers.tick(ms)
  }
  const completed = async () => {
    await turnOfEventLoop()
    return isComplete
  }
  return { wait, come, pass, completed }
}

describe('a batch waits for more changes', () => {
  it('until one of each caller is there', async (t) => {
    const { wait, come, completed } = setUp(t, 3)
    wait(1)
    assert.equal(await completed(), false)
    come()
    assert.equal(await completed(), false)
    come()
    assert.equal(await completed(), true)
  })

  it('not for a lone caller', async (t) => {
    const { wait, completed } = setUp(t, 1)
    wait(1)
    assert.equal(await completed(), true)
  })

  it('not for more than fit', async (t) => {
    const { wait, completed } = setUp(t, 2 * BATCH_CHANGES_MAX)
    wait(BATCH_CHANGES_MAX)
    assert.equal(await completed(), true)
  })

  it('until no more come', async (t) => {
    const { wait, come, pass, completed } = setUp(t, 10)
    wait(1)
    pass(GATHERING_PAUSE_MS / 2)
    come()
    pass(GATHERING_PAUSE_MS / 2)
    assert.equal(await completed(), false)
    pass(GATHERING_PAUSE_MS / 2)
    assert.equal(await completed(), true)
  })

  it('no longer than the last batch took, however many come', async (t) => {
    const { wait, come, pass, completed } = setUp(t, 1_000)
    wait(1)
    for (let ms = 0; ms < GATHERING_MS_MAX; ms += GATHERING_PAUSE_MS / 2) {
      assert.equal(await completed(), false)
      pass(GATHERING_PAUSE_MS / 2)
      come()
    }
    assert.equal(await completed(), true)
    wait(1)
    assert.equal(await completed(), true)
  })
})
