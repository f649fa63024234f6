import { countTogether } from './authorship.ts'
import type { Change } from './change.ts'
import type { Configuration } from './configuration.ts'
import { fieldNames } from './fields.ts'
import { amountOf, heldMemory } from './record-room.ts'

/** The last changes, kept for event streams that go on where they broke. */
export const RECENT_CHANGES_MAX = 10_000
export const RECENT_CHANGES_BYTES_MAX = 8 * 1024 * 1024
/** Estimated bytes of a recent change without its texts, in an event stream. */
const RECENT_CHANGE_BYTES = 256
/** Measured memory of a recent change beside the record that it replaced or removed. */
export const RECENT_CHANGE_MEMORY_BYTES = 144

/** Where a change is among all changes. */
export interface Point {
  /** Its number among the changes of this process; each has the next one. */
  readonly place: number
  /** The changes that became visible with it. */
  readonly together: Together
}

/** A durable change of one record. */
export interface RecordChange extends Point {
  /** Undefined for a record that was added. */
  readonly before: Configuration | undefined
  /** Undefined for a record that was removed. */
  readonly after: Configuration | undefined
  /** Why it was made, as the caller said. */
  readonly reason?: string
}

/** Changes that became visible together, so that they share one tag. */
export interface Together {
  /** After the last of them. */
  readonly revision: number
  /** Places of the first and the last. */
  readonly first: number
  readonly last: number
}

/** Places of dropped changes are removed when there is one for so many that may be kept. */
const DROPPED_SHARE = 8

interface KeptChange extends RecordChange {
  reason?: string
  /** Bytes in an event stream of all changes ever made, up to this one. */
  readonly bytesUpTo: number
  readonly memory: number
}

/** The last durable changes: RECENT_CHANGES_MAX, or as many as take RECENT_CHANGES_BYTES_MAX of memory. */
export class RecentChanges {
  /** By rising places without a gap. Those before `#start` are forgotten, and their places are removed now and then. */
  #kept: (KeptChange | undefined)[] = []
  #start = 0
  #bytesUpTo = 0
  #bytesDropped = 0
  #memory = 0
  #last: number
  #revision: number
  /** The point of the last change that was dropped; before any was, that of the first state. */
  #floorPoint: Point
  readonly #max: number
  readonly #bytesMax: number

  /** @param revision The revision before the first change. */
  constructor(revision = 0, max = RECENT_CHANGES_MAX, bytesMax = RECENT_CHANGES_BYTES_MAX) {
    this.#last = revision
    this.#revision = revision
    this.#floorPoint = pointOf(revision, revision)
    this.#max = max
    this.#bytesMax = bytesMax
  }

  /** Place of the last change. */
  get last(): number {
    return this.#last
  }

  /** The changes after this place are here, all of them. */
  get floor(): number {
    return this.#last - this.count
  }

  get count(): number {
    return this.#kept.length - this.#start
  }

  /** Estimated bytes of all that goes with these changes. */
  get memory(): number {
    return this.#memory
  }

  /** The revision of the state that the changes up to `last` have made. */
  get revision(): number {
    return this.#revision
  }

  /**
   * Call it for each change, in the order of revisions.
   *
   * @param before The record as it was.
   */
  add(change: Change, revision: number, before: Configuration | undefined): void {
    this.#keep(change, revision, before, this.#together(change, revision))
  }

  /**
   * Call it for changes that become visible together at one revision; none if it stands for no change of a record.
   *
   * @param before The records as they were.
   */
  addTogether(
    changes: readonly Change[],
    revision: number,
    before: readonly (Configuration | undefined)[],
  ): void {
    const together = { revision, first: this.#last + 1, last: this.#last + changes.length }
    for (const [i, change] of changes.entries()) this.#keep(change, revision, before[i], together)
    this.#revision = Math.max(this.#revision, revision)
  }

  #keep(change: Change, revision: number, before: Configuration | undefined, together: Together) {
    const after = 'remove' in change ? undefined : 'add' in change ? change.add : change.modify
    const place = this.#last + 1
    this.#bytesUpTo += RECENT_CHANGE_BYTES + charactersOf(before) + charactersOf(after)
    // What it was after a change is still stored, or is what it was before a later one.
    const replaced = before === undefined ? 0 : heldMemory(amountOf(before))
    const reason = change.authorship?.actor.reason
    const reasonCharacters = reason?.length ?? 0
    this.#bytesUpTo += reasonCharacters
    const memory = RECENT_CHANGE_MEMORY_BYTES + replaced + reasonCharacters
    this.#memory += memory
    const kept: KeptChange = { place, before, after, together, bytesUpTo: this.#bytesUpTo, memory }
    // Only then, so that others take no memory for it.
    if (reason !== undefined) kept.reason = reason
    this.#kept.push(kept)
    this.#last = place
    this.#revision = revision
    while (this.count > this.#max || this.#memory > this.#bytesMax) this.#dropFirst()
  }

  /** Forgets all changes, because another state is in place of the one that they made: no place of before is known. */
  restart(revision: number): void {
    this.#kept = []
    this.#start = 0
    this.#bytesDropped = this.#bytesUpTo
    this.#memory = 0
    this.#last += 1
    this.#revision = revision
    this.#floorPoint = pointOf(this.#last, revision)
  }

  /** The change of a place; undefined if it is not kept. */
  at(place: number): RecordChange | undefined {
    return place <= this.floor ? undefined : this.#keptAt(place)
  }

  /** The place after which the changes after a revision come; undefined if they are not all kept. */
  placeAt(revision: number): number | undefined {
    // While a large import is handed on, the records are further than what has been handed on.
    if (revision >= this.#revision) return this.#last + revision - this.#revision
    if (revision < this.#floorPoint.together.revision) return undefined
    let [low, high] = [this.#start, this.#kept.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#kept[middle]?.together.revision ?? 0) <= revision) low = middle + 1
      else high = middle
    }
    return this.floor + low - this.#start
  }

  /** Where a place is, from `floor` on; undefined if it is not known. */
  pointAt(place: number): Point | undefined {
    if (place > this.#last) return pointOf(place, this.#revision + place - this.#last)
    return place === this.floor ? this.#floorPoint : this.at(place)
  }

  /** Revision of the last change, or of the state before the first one. */
  get changedAt(): number {
    return this.#lastTogether.revision
  }

  /** The same as it was before the last change and those that became visible with it; undefined if that is forgotten. */
  get changedBefore(): number | undefined {
    return this.pointAt(this.#lastTogether.first - 1)?.together.revision
  }

  get #lastTogether(): Together {
    return (this.at(this.#last) ?? this.#floorPoint).together
  }

  /** Estimated bytes of the changes after a place, in an event stream. */
  bytesAfter(place: number): number {
    if (place >= this.#last) return 0
    return this.#bytesUpTo - (this.#keptAt(Math.max(place, this.floor))?.bytesUpTo ?? this.#bytesDropped)
  }

  #keptAt(place: number): KeptChange | undefined {
    const after = place - this.floor - 1
    return after < 0 ? undefined : this.#kept[this.#start + after]
  }

  /** The changes of an import, or of another change of many, become visible together. */
  #together({ authorship }: Change, revision: number): Together {
    const place = this.#last + 1
    const before = this.#kept.at(-1)?.together
    if (before !== undefined && before.last >= place) return before
    const others = (countTogether(authorship ?? {}) ?? 1) - 1
    return { revision: revision + others, first: place, last: place + others }
  }

  #dropFirst() {
    const dropped = this.#kept[this.#start]
    this.#memory -= dropped?.memory ?? 0
    this.#bytesDropped = dropped?.bytesUpTo ?? this.#bytesUpTo
    this.#floorPoint = dropped === undefined ? this.#floorPoint : pointAlone(dropped)
    this.#kept[this.#start] = undefined
    this.#start += 1
    if (this.#start < this.#max / DROPPED_SHARE) return
    this.#kept = this.#kept.slice(this.#start)
    this.#start = 0
  }
}

/** Without the records, which are forgotten. */
function pointAlone({ place, together }: Point): Point {
  return { place, together }
}

function pointOf(place: number, revision: number): Point {
  return { place, together: { revision, first: place, last: place } }
}

function charactersOf(record: Configuration | undefined): number {
  if (record === undefined) return 0
  const { labels } = record
  let characters = 0
  for (const name of fieldNames) {
    const value = record[name]
    if (typeof value === 'string') characters += value.length
  }
  if (labels === undefined) return characters
  for (const [key, value] of Object.entries(labels)) characters += key.length + value.length
  return characters
}
