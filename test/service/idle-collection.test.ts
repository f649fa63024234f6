import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { collectWhenIdle } from '../../src/service/idle-collection.ts'

const MIB = 1024 * 1024

it('what a burst leaves is collected once, when nobody has asked for a while', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let [held, utilization, collections] = [100 * MIB, 0, 0]
  const process = {
    held: () => held,
    utilization: () => utilization,
    collect() {
      collections += 1
      held -= 40 * MIB
    },
  }
  const stop = collectWhenIdle(process)
  const collectionsAfter = (change: Partial<{ held: number; utilization: number }>) => {
    held = change.held ?? held
    utilization = change.utilization ?? utilization
    t.mock.timers.tick(5_000)
    return collections
  }
  assert.equal(collectionsAfter({}), 0)
  assert.equal(collectionsAfter({ held: 131 * MIB }), 0, 'too little')
  assert.equal(collectionsAfter({ held: 180 * MIB, utilization: 0.06 }), 0, 'busy')
  assert.equal(collectionsAfter({ utilization: 0.01 }), 1)
  assert.equal(held, 140 * MIB)
  assert.equal(collectionsAfter({}), 1, 'what stays is in use')
  // V8 has collected by itself.
  assert.equal(collectionsAfter({ held: 60 * MIB }), 1)
  assert.equal(collectionsAfter({ held: 92 * MIB }), 2)
  assert.equal(collectionsAfter({ held: 400 * MIB }), 3)
  assert.equal(collectionsAfter({ held: 440 * MIB }), 3, 'too little of so much')
  stop()
  assert.equal(collectionsAfter({ held: 900 * MIB }), 3)
})
