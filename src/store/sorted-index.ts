const NODE_ENTRIES_MAX = 128

interface Node<Item> {
  /** Items below this node. */
  size: number
  /** The greatest of them. */
  last: Item
  /** Exactly one of the two: a leaf has items, any other node has children. */
  items?: Item[]
  children?: Node<Item>[]
  /** Whether somebody else goes on reading `items`, so that a change needs a copy. */
  isShared?: boolean
}

/**
 * Items in order, with insertion, removal and access by offset in logarithmic time: a B+ tree whose nodes count what
 * is below them.
 */
export class SortedIndex<Item> {
  readonly #compare: (a: Item, b: Item) => number
  #root: Node<Item> | undefined

  /**
   * @param compare A total order: 0 only for the same item, or one that may stand in its place.
   * @param sorted Items to begin with, already in order.
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
    if (this.#root === undefined) {
      this.#root = { size: 1, last: item, items: [item] }
      return
    }
    const split = this.#insertBelow(this.#root, item)
    if (split !== undefined) this.#root = parentOf([this.#root, split])
  }

  /** Removes an item that is there. */
  remove(item: Item): void {
    if (this.#root === undefined) return
    this.#removeBelow(this.#root, item)
    while (this.#root?.children?.length === 1) this.#root = this.#root.children[0]
    if (this.#root?.size === 0) this.#root = undefined
  }

  /** Puts an item in the place of one that is there, or where it belongs when that is another place. */
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
   * All items in order as they are now, however the index changes later. Costs a moment for each node, not for each
   * item.
   */
  freeze(): Iterable<Item> {
    const pieces: Item[][] = []
    if (this.#root !== undefined) share(this.#root, pieces)
    return flatten(pieces)
  }

  /** Returns the new right neighbour when the node had to be split. */
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
      items.splice(this.#search(items, item), 1)
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
      items[this.#search(items, old)] = item
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
  let nodes: Node<Item>[] = []
  // Three quarters full, so that the first insertions do not split every node.
  const entries = (NODE_ENTRIES_MAX * 3) / 4
  for (let first = 0; first < sorted.length; first += entries) {
    const items = sorted.slice(first, first + entries)
    nodes.push({ size: items.length, last: at(items, items.length - 1), items })
  }
  while (nodes.length > 1) {
    const parents: Node<Item>[] = []
    for (let first = 0; first < nodes.length; first += entries)
      parents.push(parentOf(nodes.slice(first, first + entries)))
    nodes = parents
  }
  return nodes[0]
}

function parentOf<Item>(children: Node<Item>[]): Node<Item> {
  const size = children.reduce((sum, child) => sum + child.size, 0)
  return { size, last: at(children, children.length - 1).last, children }
}

function split<Item>(node: Node<Item>): Node<Item> | undefined {
  const entries: unknown[] = node.items ?? node.children ?? []
  if (entries.length <= NODE_ENTRIES_MAX) return undefined
  const half = entries.length >> 1
  let right: Node<Item>
  if (node.items !== undefined) {
    // Not shared: an insertion has just made it too long.
    const items = node.items.splice(half)
    right = { size: items.length, last: node.last, items }
    node.last = at(node.items, half - 1)
  } else {
    const children = node.children ?? []
    right = parentOf(children.splice(half))
    node.last = at(children, half - 1).last
  }
  node.size -= right.size
  return right
}

/** Puts a child together with a neighbour when one node has room for both twice, so that sparse nodes do not pile up. */
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

/** The items of a leaf, to be changed. */
function ownItems<Item>(leaf: Node<Item>): Item[] {
  if (leaf.isShared || leaf.items === undefined) leaf.items = leaf.items?.slice() ?? []
  leaf.isShared = false
  return leaf.items
}

function share<Item>(node: Node<Item>, pieces: Item[][]): void {
  if (node.items !== undefined) {
    node.isShared = true
    pieces.push(node.items)
  }
  for (const child of node.children ?? []) share(child, pieces)
}

function* flatten<Item>(pieces: readonly Item[][]): Iterable<Item> {
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

/** The first of the positions 0 to `end` - 1 where `holds` is true, or `end`; `holds` must not turn false again. */
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
