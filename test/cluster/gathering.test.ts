import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { BATCH_NAMES_MAX } from '../../src/cluster/batch.ts'
import {
  GATHERING_FIRST_SHARE,
  GATHERING_MS_MAX,
  GATHERING_PAUSE_MS,
  Gathering,
} from '../../src/cluster/gathering.ts'

const LAST_MS = 16
const FIRST_MS = 2 * LAST_MS * GATHERING_FIRST_SHARE

/** A gathering at a held time, after a batch. */
function setUp(t: TestContext, callers: number, lastMs = LAST_MS) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const gathering = new Gathering()
  let [waiting, now, isComplete] = [0, lastMs, false]
  gathering.ended(callers, 0, lastMs)
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
  /** @param isBusy Whether the event loop cannot read meanwhile what arrives. */
  const pass = async (ms: number, isBusy = false) => {
    for (let turns = 0; turns < (isBusy ? 0 : 3); turns++) await turnOfEventLoop()
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
    const { wait, completed } = setUp(t, 2 * BATCH_NAMES_MAX)
    wait(BATCH_NAMES_MAX)
    assert.equal(await completed(), true)
  })

  it('until no more come', async (t) => {
    const { wait, come, pass, completed } = setUp(t, 10)
    wait(1)
    await pass(FIRST_MS / 2)
    come()
    await pass(FIRST_MS / 2)
    assert.equal(await completed(), false)
    await pass(GATHERING_PAUSE_MS)
    assert.equal(await completed(), true)
  })

  it('longer for the first, as they all may be slow', async (t) => {
    const { wait, pass, completed } = setUp(t, 10)
    wait(1)
    await pass(GATHERING_PAUSE_MS)
    assert.equal(await completed(), false)
    await pass(FIRST_MS - GATHERING_PAUSE_MS)
    assert.equal(await completed(), true)
  })

  it('until the callers can have sent, after a turn in which they got their answers', async (t) => {
    const { wait, pass, completed } = setUp(t, 10)
    wait(1)
    await pass(2 * FIRST_MS, true)
    assert.equal(await completed(), false)
    await pass(FIRST_MS)
    assert.equal(await completed(), true)
  })

  it('for what has arrived while the process was busy', async (t) => {
    const { wait, come, pass, completed } = setUp(t, 10)
    wait(1)
    await pass(FIRST_MS / 2)
    await pass(FIRST_MS, true)
    come()
    assert.equal(await completed(), false)
    await pass(GATHERING_PAUSE_MS)
    assert.equal(await completed(), true)
  })

  for (const { title, lastMs } of [
    { title: 'no longer than twice the last batch, however many come', lastMs: 5 },
    { title: 'no longer than a limit, however long the last batch took', lastMs: 10 * GATHERING_MS_MAX },
  ])
    it(title, async (t) => {
      const { wait, come, pass, completed } = setUp(t, 1_000, lastMs)
      wait(1)
      for (let ms = 0; ms < Math.min(2 * lastMs, GATHERING_MS_MAX); ms += 1) {
        assert.equal(await completed(), false)
        await pass(1)
        come()
      }
      assert.equal(await completed(), true)
      wait(1)
      assert.equal(await completed(), true)
    })
})
