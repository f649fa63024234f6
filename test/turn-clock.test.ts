import './support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { elapsedInTurn, readElapsed, wallInTurn } from '../src/turn-clock.ts'

/** The machine's clocks, moved by the test; counts their readings. */
function holdMachine(t: TestContext) {
  const machine = { wall: 1_000, elapsed: 10, readings: 0 }
  t.mock.method(Date, 'now', () => {
    machine.readings += 1
    return machine.wall
  })
  t.mock.method(performance, 'now', () => {
    machine.readings += 1
    return machine.elapsed
  })
  return machine
}

const nextTurn = () => new Promise(setImmediate)

describe('the clocks of a turn', () => {
  it('are read once in a turn, and again in the next', async (t) => {
    await nextTurn()
    const machine = holdMachine(t)
    assert.deepEqual([elapsedInTurn(), wallInTurn()], [10, 1_000])
    Object.assign(machine, { wall: 1_005, elapsed: 15 })
    assert.deepEqual([elapsedInTurn(), wallInTurn(), machine.readings], [10, 1_000, 2])
    await nextTurn()
    // What other tests in this process have left running may have read the clocks meanwhile.
    machine.readings = 0
    assert.deepEqual([elapsedInTurn(), wallInTurn()], [15, 1_005])
    assert.ok(machine.readings <= 2, `${machine.readings} readings for two calls`)
    await nextTurn()
  })

  it('share a reading of the time that has elapsed, until the turn ends', async (t) => {
    await nextTurn()
    const machine = holdMachine(t)
    assert.equal(elapsedInTurn(), 10)
    machine.elapsed = 12
    assert.equal(readElapsed(), 12)
    machine.elapsed = 14
    assert.equal(elapsedInTurn(), 12)
    await nextTurn()
    assert.equal(elapsedInTurn(), 14)
    await nextTurn()
  })
})
