import { LivePiece } from '../http/live-body.ts'
import { EVENTS_LOOKED_AT_MAX, EVENTS_PIECE_BYTES } from '../limits.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import type { RecordChange } from '../store/recent-changes.ts'
import { changeMatcherOf, type Filter } from '../store/record-filter.ts'
import { eventText } from './event-text.ts'

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
  /** The same for equal filters. */
  readonly filterKey: string
}

/**
 * What streams are sent next, made once for all that are at the same position. Not cached across rounds: it would retain
 * events that no stream needs.
 */
export class EventPieces {
  readonly #store: Pick<ConfigurationStore, 'id' | 'recent'>
  readonly #pieces = new Map<string, EventPiece>()
  readonly #events = new Map<RecordChange, Buffer>()
  /** Most streams are where the one before them is. */
  #last: EventPiece | undefined

  constructor(store: Pick<ConfigurationStore, 'id' | 'recent'>) {
    this.#store = store
  }

  /** The next piece from here on; of a position that has no changes left, an empty one. */
  at({ after, filter, filterKey }: EventPosition): EventPiece {
    const last = this.#last?.position
    if (this.#last !== undefined && last?.after === after && last.filterKey === filterKey) return this.#last
    const key = `${after} ${filterKey}`
    let piece = this.#pieces.get(key)
    if (piece === undefined) {
      piece = this.#make({ after, filter, filterKey })
      this.#pieces.set(key, piece)
    }
    this.#last = piece
    return piece
  }

  #make(position: EventPosition): EventPiece {
    const { recent } = this.#store
    const { after, filter } = position
    const events: Buffer[] = []
    let bytes = 0
    let upTo = after
    const matches = changeMatcherOf(filter)
    const last = Math.min(recent.last, after + EVENTS_LOOKED_AT_MAX)
    while (upTo < last && bytes < EVENTS_PIECE_BYTES) {
      upTo += 1
      const change = recent.at(upTo)
      if (change === undefined || !matches(change)) continue
      const event = this.#eventOf(change)
      events.push(event)
      bytes += event.length
    }
    return { position, live: bytes === 0 ? undefined : new LivePiece(Buffer.concat(events, bytes)), upTo }
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
