/** Random choices that can be made again from their seed. */
export interface Random {
  readonly seed: number
  /** An integer from `min` to `max`, both included. */
  integer(min: number, max: number): number
  pick<T>(items: readonly T[]): T
}

/** A gate must judge the same commit alike each time. `npm run test:faults` takes a new seed for each run. */
const SEED_OF_GATE = 1

/** @param seed From an earlier run, to repeat it. */
export function createRandom(seed = Number(process.env.CONNBOOK_TEST_SEED ?? SEED_OF_GATE)): Random {
  // Mulberry32: small, and good enough to choose test cases with.
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integer = (min: number, max: number) => min + Math.floor(next() * (max - min + 1))
  return {
    seed,
    integer,
    pick(items) {
      const item = items[integer(0, items.length - 1)]
      if (item === undefined) throw new RangeError('Cannot pick from nothing')
      return item
    },
  }
}
