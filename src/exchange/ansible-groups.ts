import { LABEL_VALUE_CHARACTERS_MAX } from '../limits.ts'

/** A label with more of them would be too long: each has a character and a comma. */
const GROUPS_OF_HOST_MAX = LABEL_VALUE_CHARACTERS_MAX
/** Groups that are put into others' lists, for an inventory of any shape: about a second. */
const STEPS_MAX = 2_000_000
const LISTED_MAX = 5

/** Ansible makes them itself. */
const ansiblesOwn = new Set(['all', 'ungrouped'])

export interface Group {
  readonly name: string
  /** Where it stands in the inventory; after all others while only other groups have named it. */
  order: number
  readonly children: Set<Group>
  /** Groups that name it as a child and are still to be looked at. */
  waitsFor: number
  /** All groups that hold it, as far as they are known. */
  readonly above: Set<Group>
}

/** The groups of an inventory, which may hold others. */
export class AnsibleGroups {
  readonly #groups = new Map<string, Group>()

  get size(): number {
    return this.#groups.size
  }

  getNamed(name: string): Group {
    const known = this.#groups.get(name)
    if (known !== undefined) return known
    const order = Number.POSITIVE_INFINITY
    const group = { name, order, children: new Set<Group>(), waitsFor: 0, above: new Set<Group>() }
    this.#groups.set(name, group)
    return group
  }

  /**
   * Finds for each group those that hold it, also by way of others.
   *
   * @returns What is wrong with them; undefined if nothing is. It yields where a pause may be made.
   */
  *resolve(): Generator<undefined, string | undefined> {
    for (const group of this.#groups.values()) for (const child of group.children) child.waitsFor += 1
    const ready = [...this.#groups.values()].filter(({ waitsFor }) => waitsFor === 0)
    let steps = 0
    // Groups are added during the loop.
    for (const group of ready) {
      for (const child of group.children) {
        for (const holder of [...group.above, group]) {
          steps += 1
          if (child.above.size <= GROUPS_OF_HOST_MAX && !ansiblesOwn.has(holder.name)) child.above.add(holder)
        }
        yield
        if (steps > STEPS_MAX) return 'has groups that hold each other too often to be followed'
        child.waitsFor -= 1
        if (child.waitsFor === 0) ready.push(child)
      }
    }
    const looped = [...this.#groups.values()].find(({ waitsFor }) => waitsFor > 0)
    return looped === undefined ? undefined : this.#describeLoop(looped)
  }

  /** The names of all groups that hold a host, in the order of the inventory. */
  namesOf(direct: Iterable<Group>): string[] {
    const all = new Set<Group>()
    for (const group of direct) {
      if (!ansiblesOwn.has(group.name)) all.add(group)
      for (const holder of group.above) {
        if (all.size > GROUPS_OF_HOST_MAX) break
        all.add(holder)
      }
      if (all.size > GROUPS_OF_HOST_MAX) break
    }
    return [...all].sort((a, b) => a.order - b.order).map(({ name }) => name)
  }

  /** @param start A group that holds itself, or that such a group holds. */
  #describeLoop(start: Group): string {
    const holders = new Map<Group, Group>()
    for (const group of this.#groups.values()) {
      if (group.waitsFor === 0) continue
      for (const child of group.children) if (!holders.has(child)) holders.set(child, group)
    }
    const passed = new Set<Group>()
    let at = start
    for (; !passed.has(at); at = holders.get(at) ?? at) passed.add(at)
    const loop: string[] = []
    for (let next = holders.get(at) ?? at; next !== at; next = holders.get(next) ?? at)
      loop.push(JSON.stringify(next.name))
    const more = loop.length - LISTED_MAX
    const way = [...loop.slice(0, LISTED_MAX), ...(more > 0 ? [`${more} more`] : [])].join(', ')
    return `has a group that holds itself: ${JSON.stringify(at.name)}${loop.length === 0 ? '' : `, by way of ${way}`}`
  }
}
