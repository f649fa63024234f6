import type { Change } from '../../store/change.ts'
import type { Configuration } from '../../store/configuration.ts'
import type { SalvagedFrame } from './salvaged-journal.ts'

/** A stretch of revisions, both ends included. */
export interface RevisionRange {
  readonly first: number
  readonly last: number
}

/**
 * Records with changes that may have gaps between them. A change holds the whole record, so the latest one that was
 * read counts, whatever is known of the record before.
 */
export class SalvagedState {
  readonly #byId = new Map<number, Configuration>()
  readonly #byName = new Map<string, Configuration>()
  readonly #displaced = new Map<number, Configuration>()
  readonly #missing: RevisionRange[] = []
  #revision = 0
  #lastId = 0
  #misfits = 0
  #containedUpTo = 0

  /** Revision of the last change. */
  get revision(): number {
    return this.#revision
  }

  /** The highest id that can have been given: each missing change may have been an addition. */
  get lastId(): number {
    return this.#lastId
  }

  get missing(): readonly RevisionRange[] {
    return this.#missing
  }

  get misfits(): number {
    return this.#misfits
  }

  /** Records whose names others have. */
  get displaced(): readonly Configuration[] {
    return byId(this.#displaced)
  }

  /** By rising id. */
  get records(): readonly Configuration[] {
    return byId(this.#byId)
  }

  /** Adds a record of the snapshot. @returns false if there is one with its id. */
  load(record: Configuration): boolean {
    if (this.#byId.has(record.id)) return false
    if (this.#byName.has(record.name)) {
      this.#displaced.set(record.id, record)
      return true
    }
    this.#byId.set(record.id, record)
    this.#byName.set(record.name, record)
    return true
  }

  /**
   * Begins to apply changes after a revision.
   *
   * @param containedUpTo Changes up to this revision may be in the records already, so that they do not fit.
   */
  begin(revision: number, lastId: number, containedUpTo: number): void {
    this.#revision = revision
    this.#lastId = lastId
    this.#containedUpTo = containedUpTo
  }

  /** Notes that the next change comes after a revision; all before it that were not applied are missing. */
  advance(revision: number): void {
    if (revision <= this.#revision) return
    this.#missing.push({ first: this.#revision + 1, last: revision })
    this.#lastId += revision - this.#revision
    this.#revision = revision
  }

  /** Applies the changes of a frame up to a revision, without those that came before. */
  apply({ firstRevision, changes }: SalvagedFrame, upTo: number): void {
    for (const [i, change] of changes.entries()) {
      const revision = firstRevision + i
      if (revision <= this.#revision || revision > upTo) continue
      this.advance(revision - 1)
      this.#revision = revision
      if (!this.#applyOne(change) && revision > this.#containedUpTo) this.#misfits += 1
    }
  }

  /** @returns false if the change does not fit. */
  #applyOne(change: Change | undefined): boolean {
    if (change === undefined) return false
    if ('remove' in change) {
      const record = this.#byName.get(change.remove)
      if (record !== undefined) this.#take(record)
      return record !== undefined
    }
    if ('add' in change) this.#lastId = change.add.id
    this.#put('add' in change ? change.add : change.modify)
    return true
  }

  #put(record: Configuration) {
    const before = this.#byId.get(record.id)
    if (before !== undefined) this.#take(before)
    // The name was free, so its holder had been renamed or removed by a change that is missing.
    const holder = this.#byName.get(record.name)
    if (holder !== undefined) {
      this.#take(holder)
      this.#displaced.set(holder.id, holder)
    }
    this.#byId.set(record.id, record)
    this.#byName.set(record.name, record)
    this.#displaced.delete(record.id)
  }

  #take({ id, name }: Configuration) {
    this.#byId.delete(id)
    this.#byName.delete(name)
  }
}

function byId(records: ReadonlyMap<number, Configuration>): Configuration[] {
  return [...records.values()].sort((a, b) => a.id - b.id)
}
