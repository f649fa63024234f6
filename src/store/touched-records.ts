import type { Actor } from './authorship.ts'
import type { ChangedRecord, ChangedRecords } from './bulk-change.ts'
import { type Change, namesOf } from './change.ts'
import type { Configuration } from './configuration.ts'
import type { ConfigurationIndex } from './configuration-index.ts'
import { amountOf, heldMemory } from './record-room.ts'
import type { Records } from './records.ts'

/** How much of what has changed is kept for one plan. */
export const TOUCHED_RECORDS_MAX = 50_000
export const TOUCHED_BYTES_MAX = 8 * 1024 * 1024

/** The records that change while a change of many is planned: each as it was, and as it is. */
export class TouchedRecords {
  readonly #records: Records
  readonly #index: ConfigurationIndex
  readonly #stop: () => void
  /** By id. */
  readonly #touched = new Map<number, ChangedRecord>()
  readonly #names = new Set<string>()
  #bytes = 0
  #isLost = false

  /** Begins with the records as they are now. Call `stop` in the end. @param own Who makes changes that do not count. */
  constructor(records: Records, own: Actor | undefined) {
    this.#records = records
    this.#index = records.index
    const { revision } = records.index
    this.#stop = records.onDurable((change, at, before) => {
      if (at > revision && (own === undefined || change.authorship?.actor !== own)) this.#add(change, before)
    })
  }

  /** Whether too many have changed, or others are in the place of all: then only a new plan is right. */
  get isLost(): boolean {
    return this.#isLost || this.#records.index !== this.#index
  }

  /** Whether all that can be seen is known here: those of a large change come after they can be seen. */
  get isWhole(): boolean {
    return this.#records.recent.revision === this.#index.revision
  }

  /** Whether nothing has changed since it began, or since the last call of `take`. */
  get isEmpty(): boolean {
    return this.#touched.size === 0 && this.isWhole
  }

  /** What has changed since it began, or since the last call. */
  take(): ChangedRecords {
    const changed = { records: [...this.#touched.values()], names: [...this.#names] }
    this.#touched.clear()
    this.#names.clear()
    this.#bytes = 0
    return changed
  }

  stop(): void {
    this.#stop()
  }

  #add(change: Change, before: Configuration | undefined) {
    if (this.#isLost) return
    const after = 'remove' in change ? undefined : 'add' in change ? change.add : change.modify
    const id = (after ?? before)?.id
    if (id === undefined) return
    const earlier = this.#touched.get(id)
    if (earlier === undefined && before !== undefined) this.#bytes += heldMemory(amountOf(before))
    this.#touched.set(id, { before: earlier === undefined ? before : earlier.before, after })
    for (const name of namesOf(change)) this.#names.add(name)
    this.#isLost =
      Math.max(this.#touched.size, this.#names.size) > TOUCHED_RECORDS_MAX || this.#bytes > TOUCHED_BYTES_MAX
    if (!this.#isLost) return
    this.#touched.clear()
    this.#names.clear()
  }
}
