import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createFairQueue } from '../../src/auth/fair-queue.ts'
import { OverloadedError } from '../../src/errors.ts'

const RUNNING_MAX = 2
const WAITING_MAX = 6

function setUp() {
  const queue = createFairQueue(RUNNING_MAX, WAITING_MAX, 'too many')
  /** Networks in the order in which their jobs were admitted. */
  const admitted: string[] = []
  const refused: string[] = []
  const enter = (network: string, jobs = 1) => {
    for (let i = 0; i < jobs; i += 1) {
      queue.enter(network).then(
        () => admitted.push(network),
        (error: unknown) => {
          assert.ok(error instanceof OverloadedError)
          assert.equal(error.message, 'too many')
          refused.push(network)
        },
      )
    }
  }
  return {
    admitted,
    refused,
    enter,
    async leave(jobs = 1) {
      for (let i = 0; i < jobs; i += 1) queue.leave()
      await nextTurn()
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

  it('serves the networks in turn', async () => {
    const { admitted, enter, leave } = setUp()
    enter('flood', RUNNING_MAX + 4)
    enter('a')
    enter('b')
    await nextTurn()
    await leave(6)
    assert.deepEqual(admitted.slice(RUNNING_MAX), ['flood', 'a', 'b', 'flood', 'flood', 'flood'])
  })

  it('refuses the network that has most when it is full, and takes others', async () => {
    const { admitted, refused, enter, leave } = setUp()
    enter('flood', RUNNING_MAX + WAITING_MAX + 5)
    await nextTurn()
    assert.deepEqual(refused, Array(5).fill('flood'))
    enter('a')
    enter('b')
    await nextTurn()
    assert.deepEqual(refused, Array(7).fill('flood'))
    await leave(WAITING_MAX)
    assert.deepEqual(admitted.slice(RUNNING_MAX), ['flood', 'a', 'b', 'flood', 'flood', 'flood'])
    enter('a')
    await nextTurn()
    await leave(RUNNING_MAX)
    assert.equal(admitted.at(-1), 'a')
  })

  it('refuses a newcomer when every network has as few', async () => {
    const { refused, enter } = setUp()
    enter('first', RUNNING_MAX)
    for (let i = 0; i < WAITING_MAX; i += 1) enter(`network ${i}`)
    enter('newcomer')
    await nextTurn()
    assert.deepEqual(refused, ['newcomer'])
  })

  it('shares its places evenly between two floods', async () => {
    const { admitted, enter, leave } = setUp()
    enter('a', RUNNING_MAX + WAITING_MAX)
    enter('b', WAITING_MAX)
    await nextTurn()
    await leave(WAITING_MAX)
    const served = admitted.slice(RUNNING_MAX)
    assert.equal(served.length, WAITING_MAX)
    assert.equal(served.filter((network) => network === 'b').length, WAITING_MAX / 2)
  })
})
