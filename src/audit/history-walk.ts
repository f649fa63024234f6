import type { Access } from '../store/access.ts'
import type { Configuration } from '../store/configuration.ts'
import {
  changeEvents,
  countedEntryOf,
  entryAsSeen,
  entryOf,
  type HistoryEntry,
  idOf,
} from './history-entry.ts'
import type { ListedRanges } from './listed-ranges.ts'
import { type PastChange, PastRecords } from './past-records.ts'
import type { TrailLine } from './trail-lines.ts'

/** Memory of lines that wait for newer ones. With more, a gap between them counts as one that nothing fills. */
export const HELD_LINES_BYTES_MAX = 4 * 1024 * 1024
/** Entries of one answer together, if there are several: each may have 64 labels. */
export const HISTORY_CHARACTERS_MAX = 1_000_000
/** A clock may be behind that of another node, or may have been set: so far older lines are still looked at. */
const CLOCK_STEP_MS = 5 * 60_000

/** Which changes of all records are asked for; those that fulfil everything that is given. */
export interface HistoryQuery {
  /** How many at most; fewer if they have more than HISTORY_CHARACTERS_MAX. */
  readonly limit: number
  /** Only those that come after this place, newest first. */
  readonly before?: HistoryPlace | undefined
  /** RFC 3339 in UTC with milliseconds. */
  readonly since?: string | undefined
  /** The same; a change of this time is left out. */
  readonly until?: string | undefined
  readonly by?: string | undefined
  /** Whether a change of one record is kept; without it, changes that are only counted are kept, too. */
  readonly keeps?: ((change: PastChange) => boolean) | undefined
  /** Limits `keeps`, which must be given: only what is certain is shown, and only what is seen of it. */
  readonly access?: Access | undefined
}

/** Where a change is among all: those made together in a cluster share the revision. */
export interface HistoryPlace {
  readonly revision: number
  /** The record's id; 0 for changes of many that are only counted. */
  readonly id: number
}

/** A part of the history of all records. */
export interface AllHistory {
  /** Each as JSON, newest first. */
  readonly entries: readonly string[]
  /** RFC 3339. All changes after it, and before the place where it begins, that are asked for are in it. */
  readonly since: string
  /** Place of the last entry, if there are more. */
  readonly next: HistoryPlace | undefined
}

interface Held extends HistoryPlace {
  readonly line: TrailLine
  readonly bytes: number
}

interface KeptLine extends HistoryPlace {
  readonly time: string
  readonly json: string
}

/** Takes the lines of changes, brings them in order, and keeps those that are asked for. */
export class HistoryWalk {
  readonly #query: HistoryQuery
  readonly #upTo: number
  readonly #past: PastRecords | undefined
  /** Up to one more than the answer has: it says that there are more. */
  readonly #kept: KeptLine[] = []
  #keptCharacters = 0
  /** Lines that wait until it is known that no newer one is missing. */
  #held: Held[] = []
  #heldBytes = 0
  #lowestRevision = Number.POSITIVE_INFINITY
  /** Where the last line that was judged stands. */
  #last: HistoryPlace | undefined
  /** Time of the newest change from which on the records are not certain any more. */
  #uncertainSince: string | undefined

  /**
   * @param upTo Revision of the last change that is taken.
   * @param find The record with an id, at that revision.
   */
  constructor(query: HistoryQuery, upTo: number, find: (id: number) => Configuration | undefined) {
    this.#query = query
    this.#upTo = upTo
    this.#past = query.keeps && new PastRecords(find)
  }

  take(line: TrailLine, revision: number, bytes: number): void {
    const isOfOne = changeEvents.some((event) => event === line.event)
    const id = isOfOne ? idOf(line) : 0
    if (id === undefined) return
    this.#held.push({ line, revision, id, bytes })
    this.#heldBytes += bytes
    this.#lowestRevision = Math.min(this.#lowestRevision, revision)
  }

  /** Judges the lines that no newer one can follow any more. @returns Whether older lines can add nothing. */
  isDone(listed: ListedRanges): boolean {
    const range = listed.find(this.#upTo)
    // More changes of the lowest revision may come.
    this.#judge(Math.max(range?.after ?? this.#upTo, this.#lowestRevision))
    if (this.#heldBytes > HELD_LINES_BYTES_MAX) this.#judgeBeyondGap(this.#lowestRevision)
    const { since } = this.#query
    if (this.#isFull) return true
    return since !== undefined && range !== undefined && isLongBefore(range.time, since)
  }

  /** @param now Since when the changes are listed, if no line says so. */
  end(listed: ListedRanges, now: string): AllHistory {
    const range = listed.find(this.#upTo)
    this.#judge(range?.after ?? this.#upTo)
    this.#judgeBeyondGap(Number.NEGATIVE_INFINITY)
    const { since = '', access } = this.#query
    const entries = this.#isFull ? this.#kept.slice(0, -1) : this.#kept
    const last = entries.at(-1)
    const hasMore = this.#isFull && last !== undefined
    const listedSince = latest(range?.time ?? now, this.#uncertainSince ?? '', since)
    return {
      entries: entries.map(({ json }) => json),
      // What was before the first change that is seen is nobody's business.
      since: hasMore || access !== undefined ? latest(listedSince, last?.time ?? '') : listedSince,
      next: hasMore ? { revision: last.revision, id: last.id } : undefined,
    }
  }

  #judgeBeyondGap(above: number) {
    if (this.#held.some(({ revision }) => revision > above)) this.#past?.addGap()
    this.#judge(above)
  }

  /** Judges the lines above a revision, the newest first. */
  #judge(above: number) {
    const due = this.#held.filter(({ revision }) => revision > above)
    if (due.length === 0) return
    this.#held = this.#held.filter(({ revision }) => revision <= above)
    for (const held of due.sort(compareNewest)) {
      this.#heldBytes -= held.bytes
      // It comes twice, or after the gap that it fills was given up.
      if (this.#last !== undefined && compareNewest(held, this.#last) <= 0) continue
      this.#last = held
      this.#look(held)
    }
  }

  #look({ line, revision, id }: Held) {
    const past = this.#past
    const time = String(line.time)
    let change: PastChange | undefined
    if (id === 0) past?.addGap()
    else change = past?.undo(line, id)
    if (past?.isWhole === false) this.#uncertainSince ??= time
    if (this.#isFull || !this.#isKept(line, { revision, id }, change)) return
    const entry = id === 0 ? countedEntryOf(line) : this.#entryOf(line, change)
    if (entry === undefined) return
    const json = JSON.stringify(entry)
    this.#kept.push({ revision, id, time, json })
    this.#keptCharacters += json.length
  }

  get #isFull(): boolean {
    const { length } = this.#kept
    return length > this.#query.limit || (length > 1 && this.#keptCharacters > HISTORY_CHARACTERS_MAX)
  }

  #entryOf(line: TrailLine, change: PastChange | undefined): HistoryEntry | undefined {
    const { access } = this.#query
    const entry = entryOf(line)
    if (access === undefined || entry === undefined || change === undefined) return entry
    const seen = access.seenChangeOf(change)
    return seen && entryAsSeen(entry, seen)
  }

  /** The one place where a change is judged by what is asked for. */
  #isKept(line: TrailLine, place: HistoryPlace, change: PastChange | undefined): boolean {
    const { before, since, until, by, keeps, access } = this.#query
    const time = String(line.time)
    if (before !== undefined && compareNewest(place, before) <= 0) return false
    if (since !== undefined && time < since) return false
    if (until !== undefined && time >= until) return false
    if (by !== undefined && line.by !== by) return false
    if (access !== undefined && (change?.isCertain !== true || access.seenChangeOf(change) === undefined))
      return false
    return keeps === undefined || (change !== undefined && keeps(change))
  }
}

/** Negative if the first is newer. */
function compareNewest(one: HistoryPlace, other: HistoryPlace): number {
  return other.revision - one.revision || other.id - one.id
}

function isLongBefore(time: string, since: string): boolean {
  return Date.parse(time) < Date.parse(since) - CLOCK_STEP_MS
}

function latest(...times: readonly string[]): string {
  return times.reduce((one, other) => (other > one ? other : one))
}
