import type { Change } from './change.ts'
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
    for (const [name, holder] of touchedNames(change)) {
      const changes = (this.#names.get(name)?.changes ?? 0) + 1
      this.#names.set(name, { holder, changes, durable })
    }
  }

  /** Removes a change that is durable now. */
  remove(change: Change): void {
    for (const [name] of touchedNames(change)) {
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
}

/** The names that a change takes or frees, each with its next holder. */
function touchedNames(change: Change): [string, Configuration | undefined][] {
  if ('add' in change) return [[change.add.name, change.add]]
  if ('remove' in change) return [[change.remove, undefined]]
  if (change.name === change.modify.name) return [[change.name, change.modify]]
  return [
    [change.name, undefined],
    [change.modify.name, change.modify],
  ]
}
