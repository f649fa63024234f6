import { type Change, namesOf } from './change.ts'
import type { Configuration } from './configuration.ts'

interface StagedName {
  /** Who will have the name; undefined if it will be free. */
  holder: Configuration | undefined
  /** How many pending changes touch the name. */
  changes: number
  /** Resolves when the last of them is durable, rejects if it is refused. */
  durable: Promise<void>
}

/** The names that pending changes, which are not durable yet, take or free. */
export class StagedNames {
  readonly #names = new Map<string, StagedName>()

  /** Who will have a name; undefined if no pending change touches it. */
  find(name: string): { readonly holder: Configuration | undefined } | undefined {
    return this.#names.get(name)
  }

  /** The names that pending changes touch. */
  names(): string[] {
    return [...this.#names.keys()]
  }

  /** The records that will have those names. */
  holders(): Configuration[] {
    return [...this.#names.values()].flatMap(({ holder }) => holder ?? [])
  }

  /** @param durable Resolves when the change is durable, rejects if it is refused. */
  add(change: Change, durable: Promise<void>): void {
    if ('add' in change) this.#touch(change.add.name, change.add, durable)
    else if ('remove' in change) this.#touch(change.remove, undefined, durable)
    else {
      const { name, modify } = change
      if (name !== modify.name) this.#touch(name, undefined, durable)
      this.#touch(modify.name, modify, durable)
    }
  }

  /** Removes a change that is durable now. */
  remove(change: Change): void {
    for (const name of namesOf(change)) {
      const staged = this.#names.get(name)
      if (staged === undefined) continue
      staged.changes -= 1
      if (staged.changes === 0) this.#names.delete(name)
    }
  }

  /** Removes all changes, because they are refused. */
  clear(): void {
    this.#names.clear()
  }

  /** Waits for the pending changes that touch any of the names; false if one is refused. */
  async areDurable(names: readonly string[]): Promise<boolean> {
    const outcomes = await Promise.allSettled(names.map((name) => this.#names.get(name)?.durable))
    return outcomes.every(({ status }) => status === 'fulfilled')
  }

  #touch(name: string, holder: Configuration | undefined, durable: Promise<void>) {
    const staged = this.#names.get(name)
    if (staged === undefined) this.#names.set(name, { holder, changes: 1, durable })
    else {
      staged.changes += 1
      staged.holder = holder
      staged.durable = durable
    }
  }
}
