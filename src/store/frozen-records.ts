import type { Configuration } from './configuration.ts'
import type { Frozen } from './sorted-index.ts'

/** Finds records by id, in logarithmic time. @param frozen Records by rising id. */
export function findById(
  { leaves }: Pick<Frozen<Configuration>, 'leaves'>,
  id: number,
): Configuration | undefined {
  const leaf = firstFrom(leaves, id, (records) => records.at(-1)?.id ?? 0)
  const record = leaf && firstFrom(leaf, id, (one) => one.id)
  return record?.id === id ? record : undefined
}

/** The first item whose id is not below. */
function firstFrom<Item>(items: readonly Item[], id: number, idOf: (item: Item) => number): Item | undefined {
  let [low, high] = [0, items.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    const item = items[middle]
    if (item !== undefined && idOf(item) < id) low = middle + 1
    else high = middle
  }
  return items[low]
}
