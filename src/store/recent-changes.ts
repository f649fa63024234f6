import { RECENT_CHANGE_BYTES, RECENT_CHANGES_BYTES_MAX, RECENT_CHANGES_MAX } from '../limits.ts'
import type { Change } from './change.ts'
import type { Configuration } from './configuration.ts'

/** A durable change of one record. */
export interface RecordChange {
  readonly revision: number
  /** Undefined for a record that was added. */
  readonly before: Configuration | undefined
  /** Undefined for a record that was removed. */
  readonly after: Configuration | undefined
  /** The changes of an import become visible together, so they share the tag of the last one. */
  readonly lastTogether: number
  /** Revision of the first of them. */
  readonly firstTogether: number
}

/** Dropped changes are removed when there is one for so many that may be kept. */
const DROPPED_SHARE = 8

interface Kept {
  readonly change: RecordChange
  /** Of all changes up to this one, ever. */
  readonly bytesUpTo: number
}

/** The last durable changes, RECENT_CHANGES_MAX or RECENT_CHANGES_BYTES_MAX. */
export class RecentChanges {
  /** Of rising revisions without a gap; those before `#start` are dropped now and then. */
  #kept: Kept[] = []
  #start = 0
  #bytesUpTo = 0
  #bytesDropped = 0
  #last: number
  readonly #max: number
  readonly #bytesMax: number

  /** @param revision Of the state before the first change. */
  constructor(revision = 0, max = RECENT_CHANGES_MAX, bytesMax = RECENT_CHANGES_BYTES_MAX) {
    this.#last = revision
    this.#max = max
    this.#bytesMax = bytesMax
  }

  /** Revision of the last change. */
  get last(): number {
    return this.#last
  }

  /** The changes after this revision are here, all of them. */
  get floor(): number {
    return this.#last - this.count
  }

  get count(): number {
    return this.#kept.length - this.#start
  }

  /** Call it for each change, in the order of revisions. @param before The record as it was. */
  add(change: Change, revision: number, before: Configuration | undefined): void {
    if (revision !== this.#last + 1) this.#forgetAll()
    const after = 'remove' in change ? undefined : 'add' in change ? change.add : change.modify
    const [firstTogether, lastTogether] = this.#together(change, revision)
    this.#bytesUpTo += RECENT_CHANGE_BYTES + charactersOf(before) + charactersOf(after)
    this.#kept.push({
      change: { revision, before, after, firstTogether, lastTogether },
      bytesUpTo: this.#bytesUpTo,
    })
    this.#last = revision
    while (this.count > this.#max || this.#bytesUpTo - this.#bytesDropped > this.#bytesMax) this.#dropFirst()
  }

  /** The change of a revision; undefined if it is not kept. */
  at(revision: number): RecordChange | undefined {
    return revision <= this.floor ? undefined : this.#keptAt(revision)?.change
  }

  /** Estimated bytes of the changes after a revision, in an event stream. */
  bytesAfter(revision: number): number {
    if (revision >= this.#last) return 0
    return this.#bytesUpTo - (this.#keptAt(Math.max(revision, this.floor))?.bytesUpTo ?? this.#bytesDropped)
  }

  #keptAt(revision: number): Kept | undefined {
    const place = revision - this.floor - 1
    return place < 0 ? undefined : this.#kept[this.#start + place]
  }

  /** First and last revision of the changes that become visible with this one. */
  #together({ authorship }: Change, revision: number): readonly [number, number] {
    const note = authorship?.import
    if (note !== undefined) return [revision, revision + note.added + note.modified + note.removed - 1]
    const before = this.#kept.at(-1)?.change
    if (before !== undefined && before.lastTogether >= revision)
      return [before.firstTogether, before.lastTogether]
    return [revision, revision]
  }

  #dropFirst() {
    this.#bytesDropped = this.#kept[this.#start]?.bytesUpTo ?? this.#bytesUpTo
    this.#start += 1
    if (this.#start < this.#max / DROPPED_SHARE) return
    this.#kept = this.#kept.slice(this.#start)
    this.#start = 0
  }

  #forgetAll() {
    this.#kept = []
    this.#start = 0
    this.#bytesDropped = this.#bytesUpTo
  }
}

function charactersOf(record: Configuration | undefined): number {
  if (record === undefined) return 0
  const { name, hostname, username, labels = {} } = record
  let characters = name.length + hostname.length + username.length
  for (const [key, value] of Object.entries(labels)) characters += key.length + value.length
  return characters
}
