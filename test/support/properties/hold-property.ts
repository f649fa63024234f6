import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import * as fc from 'fast-check'
import { extent } from '../extent.ts'
import { createRandom } from '../random.ts'

/** Cases that every property is tried with, where nothing else is said. */
export const CASES = extent({ quick: 200, full: 100_000 })

const prototypes = [Object.prototype, Array.prototype, String.prototype, Map.prototype]
const membersBefore = countMembers()

/** Tries a property on CASES values and shows the seed, which repeats them as CONNBOOK_TEST_SEED. */
export function holdFor<Value>(
  t: TestContext,
  values: fc.Arbitrary<Value>,
  predicate: (value: Value) => void,
): void {
  const property = fc.property(values, (value) => {
    predicate(value)
    assertPrototypesUntouched()
  })
  void fc.assert(property, { seed: showSeed(t), numRuns: CASES })
}

/** The same for slow properties. */
export async function holdLaterFor<Value>(
  t: TestContext,
  values: fc.Arbitrary<Value>,
  predicate: (value: Value) => Promise<void>,
  cases = CASES,
): Promise<void> {
  const property = fc.asyncProperty(values, async (value) => {
    await predicate(value)
    assertPrototypesUntouched()
  })
  await fc.assert(property, { seed: showSeed(t), numRuns: cases })
}

function showSeed(t: TestContext): number {
  const { seed } = createRandom()
  t.diagnostic(`seed ${seed}`)
  return seed
}

/** Input that reaches a prototype would change every object of the process. */
function assertPrototypesUntouched() {
  assert.equal(countMembers(), membersBefore, 'a prototype was changed')
}

function countMembers(): number {
  let members = 0
  for (const prototype of prototypes) members += Reflect.ownKeys(prototype).length
  return members
}
