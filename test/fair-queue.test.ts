import './support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { OverloadedError } from '../src/errors.ts'
import { createFairQueue, QUEUE_RECENT_MAX } from '../src/fair-queue.ts'

const RUNNING_MAX = 2
const WAITING_MAX = 6

function setUp() {
  const queue = createFairQueue(RUNNING_MAX, WAITING_MAX, 'too many')
  /** Callers in the order in which their jobs were admitted. */
  const admitted: string[] = []
  const refused: string[] = []
  /** @param caller With its groups before it, as in "wide/narrow/caller". */
  const enter = (caller: string, jobs = 1, places = 1) => {
    for (let i = 0; i < jobs; i += 1) {
      queue.enter(caller.split('/'), places).then(
        () => admitted.push(caller),
        (error: unknown) => {
          assert.ok(error instanceof OverloadedError)
          assert.equal(error.message, 'too many')
          refused.push(caller)
        },
      )
    }
  }
  return {
    admitted,
    refused,
    enter,
    /** Fills what may run at once. */
    async occupy() {
      enter('running', RUNNING_MAX)
      await nextTurn()
      admitted.length = 0
    },
    async leave(jobs = 1) {
      for (let i = 0; i < jobs; i += 1) {
        queue.leave()
        await nextTurn()
      }
    },
  }
}

describe('createFairQueue', () => {
  it('admits as many jobs at once as allowed, and the next when one leaves', async () => {
    const { admitted, enter, leave } = setUp()
    enter('a', 3)
    await nextTurn()
    assert.equal(admitted.length, RUNNING_MAX)
    await leave()
    assert.equal(admitted.length, 3)
    await leave(2)
    enter('a', 3)
    await nextTurn()
    assert.equal(admitted.length, 3 + RUNNING_MAX)
  })

  it('serves the callers in turn', async () => {
    const { admitted, enter, occupy, leave } = setUp()
    await occupy()
    enter('flood', 4)
    enter('a')
    enter('b')
    await leave(6)
    assert.deepEqual(admitted, ['flood', 'a', 'b', 'flood', 'flood', 'flood'])
  })

  it('serves the groups of callers in turn, and those within each group', async () => {
    const { admitted, enter, occupy, leave } = setUp()
    await occupy()
    for (const caller of ['home/1', 'home/2', 'home/3', 'home/4', 'office/1', 'office/2']) enter(caller)
    await leave(6)
    assert.deepEqual(
      admitted.map((caller) => caller.split('/')[0]),
      ['home', 'office', 'home', 'office', 'home', 'home'],
    )
    assert.deepEqual(
      admitted.filter((caller) => caller.startsWith('home')),
      ['home/1', 'home/2', 'home/3', 'home/4'],
    )
  })

  for (const [where, group, newcomer] of [
    ['from elsewhere', '', 'newcomer'],
    ['from a group of which', 'home/', 'home/newcomer'],
  ] as const) {
    it(`lets no newcomer ${where} many callers come back again and again wait for them all`, async () => {
      const { admitted, enter, occupy, leave } = setUp()
      await occupy()
      for (let i = 0; i < WAITING_MAX - 1; i += 1) enter(`${group}${i}`)
      const goOn = async () => {
        await leave()
        enter(admitted.at(-1) ?? '')
        await nextTurn()
      }
      for (let i = 0; i < WAITING_MAX; i += 1) await goOn()
      // They come back late, when all others have been served.
      await leave(WAITING_MAX - 1)
      for (let i = 0; i < WAITING_MAX - 1; i += 1) enter(`${group}${i}`)
      enter(newcomer)
      await goOn()
      await goOn()
      assert.ok(admitted.slice(-2).includes(newcomer), admitted.join())
    })
  }

  it('remembers a bounded number of callers that it has served', async () => {
    const { admitted, enter, occupy, leave } = setUp()
    enter('early')
    enter('late')
    await leave(2)
    for (let i = 2; i < QUEUE_RECENT_MAX; i += 1) {
      enter(`caller ${i}`)
      await leave()
    }
    await occupy()
    for (const caller of ['late', 'early', 'newcomer']) enter(caller)
    await leave(3)
    assert.deepEqual(admitted, ['early', 'newcomer', 'late'])
  })

  it('lets no caller starve for newcomers', async () => {
    const { admitted, enter, occupy, leave } = setUp()
    await occupy()
    enter('steady', 3)
    for (let i = 0; i < 9; i += 1) {
      enter(`newcomer ${i}`)
      await leave()
    }
    assert.equal(admitted.filter((caller) => caller === 'steady').length, 3)
  })

  it('refuses the last job of the caller that has most when it is full, and takes others', async () => {
    const { admitted, refused, enter, occupy, leave } = setUp()
    await occupy()
    enter('flood', WAITING_MAX + 5)
    await nextTurn()
    assert.deepEqual(refused, Array(5).fill('flood'))
    enter('a')
    enter('b')
    await nextTurn()
    assert.deepEqual(refused, Array(7).fill('flood'))
    await leave(WAITING_MAX)
    assert.deepEqual(admitted.toSorted(), ['a', 'b', 'flood', 'flood', 'flood', 'flood'])
  })

  it('refuses one of the group that has most, in which each caller has as many as the newcomer', async () => {
    const { admitted, refused, enter, occupy, leave } = setUp()
    await occupy()
    for (let i = 1; i <= WAITING_MAX; i += 1) enter(`home/${i}`)
    enter('elsewhere/1')
    await nextTurn()
    assert.deepEqual(refused, [`home/${WAITING_MAX}`])
    await leave(2)
    assert.deepEqual(admitted, ['home/1', 'elsewhere/1'])
  })

  it('refuses a caller that was served rather than a newcomer with as many jobs', async () => {
    const { admitted, refused, enter, occupy, leave } = setUp()
    await occupy()
    for (let i = 1; i <= WAITING_MAX; i += 1) enter(`caller ${i}`)
    await leave()
    enter('caller 1')
    enter('newcomer')
    await nextTurn()
    assert.deepEqual(refused, ['caller 1'])
    await leave(WAITING_MAX)
    assert.equal(admitted.at(-1), 'newcomer')
  })

  it('refuses a newcomer when every caller has as few and none was served', async () => {
    const { refused, enter, occupy } = setUp()
    await occupy()
    for (let i = 0; i < WAITING_MAX; i += 1) enter(`caller ${i}`)
    enter('newcomer')
    await nextTurn()
    assert.deepEqual(refused, ['newcomer'])
  })

  it('shares its places evenly between two floods', async () => {
    const { admitted, enter, occupy, leave } = setUp()
    await occupy()
    enter('a', WAITING_MAX)
    enter('b', WAITING_MAX)
    await leave(WAITING_MAX)
    assert.equal(admitted.length, WAITING_MAX)
    assert.equal(admitted.filter((caller) => caller === 'b').length, WAITING_MAX / 2)
  })

  it('counts a job for the places that it takes', async () => {
    const { admitted, refused, enter, occupy, leave } = setUp()
    await occupy()
    enter('large', 2, WAITING_MAX / 2)
    enter('a', 2)
    await nextTurn()
    assert.deepEqual(refused, ['large'])
    await leave(3)
    assert.deepEqual(admitted.toSorted(), ['a', 'a', 'large'])
  })
})
