import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import * as fc from 'fast-check'
import { createRandom } from '../random.ts'

const CASES_USUALLY = 200

/** How many values each property is tried with. */
export const CASES = Number(process.env.CONNBOOK_TEST_CASES ?? CASES_USUALLY)

/** The same for a slow property: usually `few`, more in proportion when CASES is more, but never more than `most`. */
export function casesOfSlow(few: number, most: number): number {
  return Math.min(most, Math.ceil((few * CASES) / CASES_USUALLY))
}

const prototypes = [Object.prototype, Array.prototype, String.prototype, Map.prototype]
const membersBefore = countMembers()

/** Tries a property on CASES values and shows the seed, which repeats them as CONNBOOK_TEST_SEED. */
export function holdFor<Value>(
  t: TestContext,
  values: fc.Arbitrary<Value>,
  predicate: (value: Value) => void,
  cases = CASES,
): void {
  const property = fc.property(values, (value) => {
    predicate(value)
    assertPrototypesUntouched()
  })
  void fc.assert(property, { seed: showSeed(t), numRuns: cases })
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
