import { FOR_ALL, type LongWork } from '../scheduler.ts'

/** Decides, encodes and applies changes, for which all later ones wait. */
export const CHANGES = FOR_ALL
/** Makes orders, for which lists wait. */
export const ORDERS = 'orders'
/** Plans changes of many, which nobody waits for but their callers. */
export const TRIALS = 'trials'

/** Items that are looked at in one step: a yield through several generators takes longer than a look. */
export const ITEMS_A_STEP = 16
/** Items that are sorted, or merged, in one step. */
const SORTED_A_STEP = 500

/** Takes items one by one, a few in each step. */
export function* inSteps<Item>(
  items: Iterable<Item>,
  take: (item: Item, position: number) => unknown,
): LongWork<void> {
  let position = 0
  for (const item of items) {
    take(item, position)
    position += 1
    if (position % ITEMS_A_STEP === 0) yield
  }
}

/** Sorts in steps: short runs first, which are then merged in pairs. */
export function* sortInSlices<Item>(
  items: Iterable<Item>,
  compare: (a: Item, b: Item) => number,
): LongWork<Item[]> {
  let runs: Item[][] = []
  let run: Item[] = []
  for (const item of items) {
    run.push(item)
    if (run.length < SORTED_A_STEP) continue
    runs.push(run.sort(compare))
    run = []
    yield
  }
  runs.push(run.sort(compare))
  while (runs.length > 1) {
    const merged: Item[][] = []
    for (let i = 0; i < runs.length; i += 2) {
      merged.push(yield* merge(runs[i] ?? [], runs[i + 1] ?? [], compare))
    }
    runs = merged
  }
  return runs[0] ?? []
}

function* merge<Item>(
  left: readonly Item[],
  right: readonly Item[],
  compare: (a: Item, b: Item) => number,
): LongWork<Item[]> {
  const [leftLast, rightFirst] = [left.at(-1), right[0]]
  if (leftLast === undefined || rightFirst === undefined || compare(leftLast, rightFirst) <= 0) {
    yield
    return [...left, ...right]
  }
  const merged: Item[] = []
  let [l, r] = [0, 0]
  for (;;) {
    const [a, b] = [left[l], right[r]]
    if (a === undefined && b === undefined) return merged
    if (b === undefined || (a !== undefined && compare(a, b) <= 0)) {
      merged.push(a as Item)
      l += 1
    } else {
      merged.push(b)
      r += 1
    }
    if (merged.length % SORTED_A_STEP === 0) yield
  }
}
