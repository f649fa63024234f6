import { unsuffixed } from '../http/header-fields.ts'
import { LivePiece } from '../http/message.ts'
import { EVENTS_RETRY_MS } from '../limits.ts'
import { SliceClock } from '../scheduler.ts'
import type { Access } from '../store/access.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { listTag, parseListTag, storeOfTag } from '../store/list-tag.ts'
import type { Point, RecordChange } from '../store/recent-changes.ts'
import { changeMatcherOf, type Filter } from '../store/record-filter.ts'

/** Approximate length of one write to an event stream. */
const EVENTS_PIECE_BYTES = 128 * 1024
/** Filters whose last change among those made together is remembered. */
const LAST_SENT_MAX = 100

type SeenStore = Pick<ConfigurationStore, 'id' | 'revision' | 'recent'>

/** A store as somebody sees it: for those who see only some records, ids of events are other ones. */
export function seenBy(access: Access | undefined, store: SeenStore): SeenStore {
  const { id, revision, recent } = store
  return access === undefined ? store : { id: access.storeOf(id), revision, recent }
}

export const COMMENT_TEXT = ':\n\n'

/** The id of an event: a tag, or the number of one of the changes that share it. */
export interface EventId {
  readonly store: string
  readonly revision: number
  /** From 1; undefined for the last one. */
  readonly part: number | undefined
}

/** Undefined if the text is not the id of an event. */
export function parseEventId(text: string): EventId | undefined {
  const [, tag, part] = /^([0-9a-z]+-\d+)(?:\.([1-9]\d{0,8}))?$/.exec(unsuffixed(text)) ?? []
  const parsed = parseListTag(tag)
  return parsed && { ...parsed, part: part === undefined ? undefined : Number(part) }
}

/** The place after which the changes have not been seen; undefined if they are not all known here. */
export function placeOf({ id, revision, recent }: SeenStore, seen: EventId): number | undefined {
  if (seen.store !== storeOfTag(id) || seen.revision > revision) return undefined
  const place = recent.placeAt(seen.revision)
  if (place === undefined || seen.part === undefined) return place
  const together = recent.at(Math.min(place, recent.last))?.together
  if (together?.revision !== seen.revision) return undefined
  const found = together.first + seen.part - 1
  return found < recent.floor || found >= together.last ? undefined : found
}

/** The place after the last change that the records show. */
export function placeNow({ revision, recent }: SeenStore): number {
  return recent.placeAt(revision) ?? recent.last
}

/** The id of the event of a place. */
export function eventIdOf({ id, revision, recent }: SeenStore, place: number): string {
  const point = recent.pointAt(place)
  return point === undefined ? listTag(id, revision) : idOf(id, point)
}

/** @param lastTold The last change that the reader is sent of those that share the tag. */
function idOf(
  store: string,
  { place, together: { revision, first, last } }: Point,
  lastTold: number = last,
): string {
  const tag = listTag(store, revision)
  return place === lastTold ? tag : `${tag}.${place - first + 1}`
}

/** What a stream begins with. It is not an event, so that a stream that breaks before the first one can go on. */
export function beginningText(id: string): string {
  return `retry: ${EVENTS_RETRY_MS}\nid: ${id}\n\n`
}

/** Says that changes are missing, and which tag the records have now. */
export function resetText(tag: string): string {
  return `event: reset\nid: ${tag}\ndata: {}\n\n`
}

/** A comment that also says up to which change the stream is complete. */
export function commentText(id: string): string {
  return `:\nid: ${id}\n\n`
}

/** The event of a change. @param lastTold As for `idOf`. */
export function eventText(store: string, change: RecordChange, lastTold?: number): string {
  const { before, after, reason } = change
  const kind = before === undefined ? 'added' : after === undefined ? 'removed' : 'modified'
  const also = kind === 'modified' ? `,"before":${before?.json}` : ''
  const why = reason === undefined ? '' : `,"reason":${JSON.stringify(reason)}`
  const record = (after ?? before)?.json
  return `event: ${kind}\nid: ${idOf(store, change, lastTold)}\ndata: {"configuration":${record}${also}${why}}\n\n`
}

/** What a stream is sent next. */
export interface EventPiece {
  readonly position: EventPosition
  /** Undefined if the filter leaves all changes out. */
  readonly live: LivePiece | undefined
  /** Position of the last change that it has, or that the filter leaves out. */
  readonly upTo: number
}

/** Where a stream goes on, and what it sends. */
export interface EventPosition {
  readonly after: number
  readonly filter: Filter
  /** What its reader sees; undefined for all records. The filter keeps nothing else. */
  readonly access?: Access | undefined
  /** The same for equal filters of those who see the same. */
  readonly filterKey: string
}

/**
 * The last of changes made together that each filter keeps, by its key. Looked for once: an import has many changes, and
 * each of its events asks.
 */
const lastTold = new WeakMap<Point['together'], Map<string, number>>()

/** Where the search for the last one goes on, by the filter of the stream that looks for it. */
const unfinished = new WeakMap<Filter, Pick<Point, 'place' | 'together'>>()

/**
 * What streams are sent next, made once for all that are at the same position. Not cached across rounds: it would retain
 * events that no stream needs.
 */
export class EventPieces {
  readonly #store: Pick<ConfigurationStore, 'id' | 'recent'>
  readonly #pieces = new Map<string, EventPiece>()
  readonly #events = new Map<RecordChange, Buffer>()
  readonly #clock = new SliceClock()
  /** Most streams are where the one before them is. */
  #last: EventPiece | undefined

  constructor(store: Pick<ConfigurationStore, 'id' | 'recent'>) {
    this.#store = store
  }

  /** The next piece from here on; of a position that has no changes left, an empty one. */
  at({ after, filter, access, filterKey }: EventPosition): EventPiece {
    const last = this.#last?.position
    if (this.#last !== undefined && last?.after === after && last.filterKey === filterKey) return this.#last
    const key = `${after} ${filterKey}`
    let piece = this.#pieces.get(key)
    if (piece === undefined) {
      piece = this.#make({ after, filter, access, filterKey })
      this.#pieces.set(key, piece)
    }
    this.#last = piece
    return piece
  }

  #make(position: EventPosition): EventPiece {
    const { recent } = this.#store
    const { after, filter, access } = position
    const events: Buffer[] = []
    let bytes = 0
    let upTo = after
    const matches = changeMatcherOf(filter)
    this.#clock.begin()
    for (let isOver = false; upTo < recent.last && bytes < EVENTS_PIECE_BYTES && !isOver; ) {
      const change = recent.at(upTo + 1)
      if (change !== undefined && matches(change)) {
        const lastTold = access && this.#lastOf(change.together, position, matches)
        // It is still being looked for; the next piece goes on with it.
        if (access !== undefined && lastTold === undefined) break
        const event =
          access === undefined ? this.#eventOf(change) : this.#seenEventOf(change, access, lastTold)
        events.push(event)
        bytes += event.length
      }
      upTo += 1
      isOver = this.#clock.isOverAfterStep()
    }
    return { position, live: bytes === 0 ? undefined : new LivePiece(Buffer.concat(events, bytes)), upTo }
  }

  #seenEventOf(change: RecordChange, access: Access, lastTold: number | undefined): Buffer {
    const seen = access.seenChangeOf(change) ?? change
    return Buffer.from(eventText(access.storeOf(this.#store.id), seen, lastTold))
  }

  /**
   * The place of the last change that matches; while an import is still being sent, the place of its last change. Undefined
   * if the slice was over before it was found.
   */
  #lastOf(
    together: Point['together'],
    { filter, filterKey }: EventPosition,
    matches: (change: RecordChange) => boolean,
  ): number | undefined {
    const { recent } = this.#store
    if (together.first === together.last || together.last > recent.last) return together.last
    const known = lastTold.get(together) ?? new Map<string, number>()
    lastTold.set(together, known)
    let place = known.get(filterKey)
    if (place === undefined) {
      const search = unfinished.get(filter)
      place = search?.together === together ? search.place : together.last
      for (; place > together.first; place -= 1) {
        if (this.#clock.isOverAfterStep()) {
          unfinished.set(filter, { together, place })
          return undefined
        }
        const change = recent.at(place)
        if (change !== undefined && matches(change)) break
      }
      if (known.size >= LAST_SENT_MAX) known.clear()
      known.set(filterKey, place)
    }
    return place
  }

  #eventOf(change: RecordChange): Buffer {
    let event = this.#events.get(change)
    if (event === undefined) {
      event = Buffer.from(eventText(this.#store.id, change))
      this.#events.set(change, event)
    }
    return event
  }
}
