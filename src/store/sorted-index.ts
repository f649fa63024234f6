import type { LongWork } from '../scheduler.ts'
import { changeLeaves, type Difference } from './changed-leaves.ts'

const NODE_ENTRIES_MAX = 128
/** Three quarters of it, so that the first insertions do not split every node. */
const NEW_NODE_ENTRIES = (NODE_ENTRIES_MAX * 3) / 4

interface Node<Item> {
  /** Items below this node. */
  size: number
  /** The greatest of them. */
  last: Item
  /** Exactly one of the two: a leaf has items, any other node has children. */
  items?: Item[]
  children?: Node<Item>[]
  /** Whether others still read `items`, so that a change needs a copy. */
  isShared?: boolean
}

/** Items as they were at a moment, in order. */
export interface Frozen<Item> extends Iterable<Item> {
  /** The same items in short arrays. */
  readonly leaves: readonly Item[][]
}

/** The first frozen item from which on `holds` is true, in logarithmic time; undefined if it never is. */
export function firstFrozen<Item>(
  { leaves }: Pick<Frozen<Item>, 'leaves'>,
  holds: (item: Item) => boolean,
): Item | undefined {
  const holdsAtEnd = (leaf: readonly Item[]) => holds(at(leaf, leaf.length - 1))
  const leaf = leaves[firstWhere(leaves.length, (position) => holdsAtEnd(at(leaves, position)))]
  return leaf?.[firstWhere(leaf.length, (position) => holds(at(leaf, position)))]
}

/** Items in order: a B+ tree with counts, so insertion, removal and access by offset take logarithmic time. */
export class SortedIndex<Item> {
  readonly #compare: (a: Item, b: Item) => number
  #root: Node<Item> | undefined

  /**
   * @param compare A total order: 0 only for the same item, or one that may replace it.
   * @param sorted The first items, already in order.
   */
  constructor(compare: (a: Item, b: Item) => number, sorted: readonly Item[] = []) {
    this.#compare = compare
    this.#root = build(sorted)
  }

  get size(): number {
    return this.#root?.size ?? 0
  }

  /** Adds an item that is not there yet. */
  insert(item: Item): void {
    const right = this.#root && this.#insertBelow(this.#root, item)
    if (this.#root === undefined) this.#root = leafOf([item])
    else if (right !== undefined) this.#root = parentOf([this.#root, right])
  }

  /** Removes an item that is there: this very object, not an equal one. */
  remove(item: Item): void {
    if (this.#root === undefined) return
    this.#removeBelow(this.#root, item)
    while (this.#root?.children?.length === 1) this.#root = this.#root.children[0]
    if (this.#root?.size === 0) this.#root = undefined
  }

  /** Replaces an item that is there, this very object; the new one may belong elsewhere in the order. */
  replace(old: Item, item: Item): void {
    if (this.#compare(old, item) === 0) this.#replaceBelow(this.#root, old, item)
    else {
      this.remove(old)
      this.insert(item)
    }
  }

  /** Up to `limit` items from `offset` on; fewer, or none, at the end. */
  slice(offset: number, limit: number): Item[] {
    const found: Item[] = []
    if (this.#root !== undefined && limit > 0) collect(this.#root, offset, Math.min(limit, this.size), found)
    return found
  }

  /**
   * Finds neighbours, in logarithmic time.
   *
   * @param place Negative for the items before them, 0 for them, positive for those after them.
   */
  stretch(place: (item: Item) => number): { readonly offset: number; readonly count: number } {
    const offset = this.#countWhile((item) => place(item) < 0)
    return { offset, count: this.#countWhile((item) => place(item) <= 0) - offset }
  }

  /**
   * Up to `limit` items from `offset` on as they are now, in order, whatever changes later. Takes time for each node, not
   * for each item.
   */
  freeze(offset = 0, limit = this.size): Frozen<Item> {
    const leaves: Item[][] = []
    if (this.#root !== undefined) share(this.#root, leaves, offset, offset + limit)
    return { leaves, [Symbol.iterator]: () => flatten(leaves) }
  }

  /**
   * Makes another index in slices: the items that this one has now, less some and with others. This one stays as it is.
   *
   * @throws {RangeError} if an item that leaves is not there.
   */
  *changedBy(difference: Difference<Item>): LongWork<SortedIndex<Item>> {
    const leaves = yield* changeLeaves(this.freeze().leaves, difference, NEW_NODE_ENTRIES, this.#compare)
    const changed = new SortedIndex(this.#compare)
    changed.#root = rootOf(leaves.map((items) => ({ ...leafOf(items), isShared: true })))
    return changed
  }

  /** How many items there are before the first for which `holds` is false. */
  #countWhile(holds: (item: Item) => boolean): number {
    let count = 0
    let node = this.#root
    while (node?.children !== undefined) {
      const { children } = node
      const position = firstWhere(children.length, (i) => !holds(at(children, i).last))
      for (let i = 0; i < position; i++) count += at(children, i).size
      node = children[position]
    }
    const items = node?.items ?? []
    return count + firstWhere(items.length, (i) => !holds(at(items, i)))
  }

  /** Returns the new right neighbour if the node had to be split. */
  #insertBelow(node: Node<Item>, item: Item): Node<Item> | undefined {
    node.size += 1
    if (this.#compare(item, node.last) > 0) node.last = item
    if (node.items !== undefined) {
      const items = ownItems(node)
      items.splice(this.#search(items, item), 0, item)
      return split(node)
    }
    const children = node.children ?? []
    const position = this.#childFor(children, item)
    const newChild = this.#insertBelow(at(children, position), item)
    if (newChild !== undefined) children.splice(position + 1, 0, newChild)
    return split(node)
  }

  #removeBelow(node: Node<Item>, item: Item): void {
    node.size -= 1
    if (node.items !== undefined) {
      const items = ownItems(node)
      items.splice(positionOf(items, item), 1)
      if (node.size > 0) node.last = at(items, node.size - 1)
      return
    }
    const children = node.children ?? []
    const position = this.#childFor(children, item)
    const child = at(children, position)
    this.#removeBelow(child, item)
    if (child.size === 0) children.splice(position, 1)
    else joinIfSmall(children, position)
    if (node.size > 0) node.last = at(children, children.length - 1).last
  }

  #replaceBelow(node: Node<Item> | undefined, old: Item, item: Item): void {
    if (node === undefined) return
    if (node.last === old) node.last = item
    if (node.items !== undefined) {
      const items = ownItems(node)
      items[positionOf(items, old)] = item
      return
    }
    const children = node.children ?? []
    this.#replaceBelow(at(children, this.#childFor(children, old)), old, item)
  }

  /** The first position whose item is not before `item`. */
  #search(items: readonly Item[], item: Item): number {
    return firstWhere(items.length, (position) => this.#compare(at(items, position), item) >= 0)
  }

  /** The child that holds, or would hold, `item`. */
  #childFor(children: readonly Node<Item>[], item: Item): number {
    return firstWhere(
      children.length - 1,
      (position) => this.#compare(at(children, position).last, item) >= 0,
    )
  }
}

function build<Item>(sorted: readonly Item[]): Node<Item> | undefined {
  const leaves: Node<Item>[] = []
  for (let first = 0; first < sorted.length; first += NEW_NODE_ENTRIES) {
    leaves.push(leafOf(sorted.slice(first, first + NEW_NODE_ENTRIES)))
  }
  return rootOf(leaves)
}

function rootOf<Item>(leaves: Node<Item>[]): Node<Item> | undefined {
  let nodes = leaves
  while (nodes.length > 1) {
    const parents: Node<Item>[] = []
    for (let first = 0; first < nodes.length; first += NEW_NODE_ENTRIES)
      parents.push(parentOf(nodes.slice(first, first + NEW_NODE_ENTRIES)))
    nodes = parents
  }
  return nodes[0]
}

function leafOf<Item>(items: Item[]): Node<Item> {
  return { size: items.length, last: at(items, items.length - 1), items }
}

function parentOf<Item>(children: Node<Item>[]): Node<Item> {
  const size = children.reduce((sum, child) => sum + child.size, 0)
  return { size, last: at(children, children.length - 1).last, children }
}

function split<Item>(node: Node<Item>): Node<Item> | undefined {
  const { items, children = [] } = node
  const entries = items?.length ?? children.length
  if (entries <= NODE_ENTRIES_MAX) return undefined
  const half = entries >> 1
  // Items are not shared: the insertion that made them too many has copied them.
  const right = items === undefined ? parentOf(children.splice(half)) : leafOf(items.splice(half))
  node.size -= right.size
  node.last = items === undefined ? at(children, half - 1).last : at(items, half - 1)
  return right
}

/** Joins a child with a neighbour if both fill at most half a node, so that sparse nodes do not pile up. */
function joinIfSmall<Item>(children: Node<Item>[], position: number): void {
  const left = children[position === children.length - 1 ? position - 1 : position]
  if (left === undefined) return
  const right = children[children.indexOf(left) + 1]
  if (right === undefined) return
  const entries = (left.items ?? left.children ?? []).length + (right.items ?? right.children ?? []).length
  if (entries > NODE_ENTRIES_MAX / 2) return
  if (left.items !== undefined) ownItems(left).push(...(right.items ?? []))
  left.children?.push(...(right.children ?? []))
  left.size += right.size
  left.last = right.last
  children.splice(children.indexOf(right), 1)
}

/** The items of a leaf, copied if shared, to be changed. */
function ownItems<Item>(leaf: Node<Item>): Item[] {
  if (leaf.isShared || leaf.items === undefined) leaf.items = leaf.items?.slice() ?? []
  leaf.isShared = false
  return leaf.items
}

/** @param offset Where the first item to share is, and `end` the first one after them, both counted from this node's first. */
function share<Item>(node: Node<Item>, leaves: Item[][], offset: number, end: number): void {
  const { size, items, children = [] } = node
  if (end <= 0 || offset >= Math.min(size, end)) return
  if (items !== undefined) {
    if (offset > 0 || end < size) leaves.push(items.slice(Math.max(0, offset), end))
    else {
      node.isShared = true
      leaves.push(items)
    }
  }
  let before = 0
  for (const child of children) {
    share(child, leaves, offset - before, end - before)
    before += child.size
  }
}

function* flatten<Item>(pieces: readonly Item[][]): Iterator<Item> {
  for (const piece of pieces) yield* piece
}

function collect<Item>(node: Node<Item>, offset: number, limit: number, found: Item[]): void {
  if (node.items !== undefined) {
    const end = Math.min(node.items.length, offset + limit - found.length)
    for (let position = offset; position < end; position++) found.push(at(node.items, position))
    return
  }
  let skip = offset
  for (const child of node.children ?? []) {
    if (found.length === limit) return
    if (skip >= child.size) {
      skip -= child.size
      continue
    }
    collect(child, skip, limit, found)
    skip = 0
  }
}

/** Compares references only: the items themselves are mostly not in the processor's caches. */
function positionOf<Item>(items: readonly Item[], item: Item): number {
  const position = items.indexOf(item)
  if (position === -1) throw new RangeError('Cannot find an item that should be there')
  return position
}

/** Binary search: the first position below `end` from which on `holds` is true, else `end`. */
function firstWhere(end: number, holds: (position: number) => boolean): number {
  let low = 0
  let high = end
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

function at<Entry>(entries: readonly Entry[], position: number): Entry {
  const entry = entries[position]
  if (entry === undefined)
    throw new RangeError(`Cannot read position ${position} of ${entries.length} entries`)
  return entry
}
