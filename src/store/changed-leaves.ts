import type { LongWork } from '../scheduler.ts'

/** Items that leave, and items that come. */
export interface Difference<Item> {
  /** These very objects are there. */
  readonly gone: ReadonlySet<Item>
  readonly added: readonly Item[]
}

/**
 * Applies a difference to sorted items. Leaves the old ones as they are, and shares with them what stays.
 *
 * @param leaves Sorted items, in arrays.
 * @param difference Its `added` must be sorted.
 * @param entries Items in a new array.
 * @param compare A total order: 0 only for the same item, or one that may replace it.
 * @returns The items after the difference, in arrays none of which is empty.
 * @throws {RangeError} if an item that leaves is not there.
 */
export function* changeLeaves<Item>(
  leaves: readonly Item[][],
  { gone, added }: Difference<Item>,
  entries: number,
  compare: (a: Item, b: Item) => number,
): LongWork<Item[][]> {
  const changed: Item[][] = []
  let leaf: Item[] = []
  let nextAdded = 0
  let removed = 0

  const endLeaf = () => {
    if (leaf.length > 0) changed.push(leaf)
    leaf = []
  }
  const put = (item: Item) => {
    if (leaf.length === entries) endLeaf()
    leaf.push(item)
  }
  /** After `put`. */
  const hasNewLeaf = () => leaf.length === 1
  const isAddedBefore = (item: Item) => {
    const next = added[nextAdded]
    return next !== undefined && compare(next, item) < 0
  }
  const putAdded = () => {
    const next = added[nextAdded]
    if (next !== undefined) put(next)
    nextAdded += 1
  }

  for (const items of leaves) {
    yield
    const last = items.at(-1)
    if (last === undefined) continue
    const stays = !isAddedBefore(last) && (gone.size === 0 || !items.some((item) => gone.has(item)))
    // A small leaf takes in its neighbour, so that sparse leaves do not pile up.
    if (stays && (leaf.length === 0 || leaf.length >= entries / 2)) {
      endLeaf()
      changed.push(items)
      continue
    }
    for (const item of items) {
      while (isAddedBefore(item)) {
        putAdded()
        if (hasNewLeaf()) yield
      }
      if (gone.has(item)) removed += 1
      else put(item)
    }
  }
  while (nextAdded < added.length) {
    putAdded()
    if (hasNewLeaf()) yield
  }
  endLeaf()
  if (removed < gone.size) throw new RangeError('Cannot remove an item that is not there')
  return changed
}
