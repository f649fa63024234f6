import { isAsAdmitted, type LiveBody, LivePiece, type LiveSink, type Request } from '../http/message.ts'
import { EVENTS_PAUSE_MS, TAKING_TIMEOUT_MS } from '../limits.ts'
import { type LongWork, SliceClock } from '../scheduler.ts'
import type { Access } from '../store/access.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import type { Filter } from '../store/record-filter.ts'
import {
  beginningText,
  COMMENT_TEXT,
  commentText,
  type EventPiece,
  EventPieces,
  type EventPosition,
  eventIdOf,
  placeNow,
  resetText,
  seenBy,
} from './event-text.ts'
import { keyOfFilter } from './filter-key.ts'
import { CredentialChecks, type WaitingCall, type WaitingCalls } from './waiting-calls.ts'

/** An event stream without an event for so long gets a comment at the next look: one at least every 15 s. */
export const EVENTS_COMMENT_MS = 12_000
/** Events that may wait for the reader of a stream; the stream ends at the look after EVENTS_LATE_LOOKS_MAX that find more. */
export const EVENTS_WAITING_BYTES_MAX = 1024 * 1024
export const EVENTS_LATE_LOOKS_MAX = 2

/** The caller of the scheduler for what all streams share. */
const STREAMS = 'event streams'

const COMMENT = pieceOf(COMMENT_TEXT)

/** What a stream is to send. */
export interface StreamQuery {
  /** Place after which it begins; undefined if what follows the caller's is not known any more. */
  readonly after: number | undefined
  /** As it was asked for. */
  readonly filter: Filter
  /** What its reader sees; undefined for all records. */
  readonly access?: Access | undefined
}

/** Sends the durable changes of a store to many readers. */
export class EventStreams {
  readonly #store: ConfigurationStore
  readonly #calls: WaitingCalls
  readonly #streams = new Set<EventStream>()
  readonly #surroundings: Surroundings
  #timer: NodeJS.Timeout | undefined
  #isTelling = false
  /** Whether there is something to send that the work under way may have passed. */
  #isBehind = false

  constructor(store: ConfigurationStore, calls: WaitingCalls) {
    this.#store = store
    this.#calls = calls
    this.#surroundings = {
      sendNow: () => this.#sendNow(),
      tag: (access) => store.tagFor(access),
      idOf: (place, access) => eventIdOf(seenBy(access, store), place),
      place: () => placeNow(store),
      waitingBytes: (place) => store.recent.bytesAfter(place),
      closed: (stream) => this.#streams.delete(stream),
    }
    store.onDurable(() => this.#sendSoon())
    store.onReplaced(() => this.#sendSoon())
  }

  get count(): number {
    return this.#streams.size
  }

  /** @throws {Problem} 503 if the account, or all accounts, have too many. */
  open(request: Request, { after, filter, access }: StreamQuery): LiveBody {
    const stream = new EventStream(request, filter, access, this.#surroundings)
    stream.leave = this.#calls.enter(request, stream)
    stream.startAfter(after)
    this.#streams.add(stream)
    return stream
  }

  /** Changes within EVENTS_PAUSE_MS go out together. */
  #sendSoon() {
    if (this.#streams.size === 0) return
    if (this.#isTelling) this.#isBehind = true
    else this.#timer ??= setTimeout(() => this.#sendNow(), EVENTS_PAUSE_MS)
  }

  async #sendNow() {
    this.#isBehind = true
    if (this.#isTelling) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#isTelling = true
    this.#isBehind = false
    const hasMore = await this.#calls.run(STREAMS, this.#sendAll())
    this.#isTelling = false
    if (hasMore) void this.#sendNow()
    else if (this.#isBehind) this.#sendSoon()
  }

  /** @returns Whether a stream that has room is still behind. */
  *#sendAll(): LongWork<boolean> {
    const pieces = new EventPieces(this.#store)
    const credentials = new CredentialChecks()
    let hasMore = false
    const clock = new SliceClock()
    clock.begin()
    for (const stream of this.#streams) {
      try {
        if (stream.canReceive(credentials)) hasMore = this.#sendTo(stream, pieces) || hasMore
      } catch (error) {
        this.#calls.report(error)
        stream.giveWay()
      }
      // Not after each of them: what is known of credentials counts until something else runs.
      if (!clock.isOverAfterStep()) continue
      yield
      credentials.forget()
      clock.begin()
    }
    return hasMore
  }

  /** @returns Whether there is more for it. */
  #sendTo(stream: EventStream, pieces: EventPieces): boolean {
    const { recent } = this.#store
    if (stream.after < recent.floor) stream.reset()
    if (stream.after >= recent.last) return false
    const piece = pieces.at(stream)
    stream.send(piece)
    return piece.upTo < recent.last && stream.hasRoom
  }
}

/** What a stream needs of all of them. */
interface Surroundings {
  readonly sendNow: () => void
  readonly tag: (access: Access | undefined) => string
  readonly idOf: (place: number, access: Access | undefined) => string
  /** After the last change that the records show. */
  readonly place: () => number
  readonly waitingBytes: (place: number) => number
  readonly closed: (stream: EventStream) => void
}

/** One reader, and the position up to which it has the events. */
class EventStream implements LiveBody, WaitingCall, EventPosition {
  readonly filter: Filter
  readonly access: Access | undefined
  readonly filterKey: string
  /** Gives back its place among the waiting calls. */
  leave = () => {}
  readonly #request: Request
  readonly #all: Surroundings
  #after = 0
  #isReset = false
  #isOver = false
  #sink: LiveSink | undefined
  /** Position of the last id that was sent. */
  #idAfter = 0
  #sentMs = 0
  /** When the reader was last seen to take something, and how much it had taken by then. */
  #passedMs = 0
  #passedBytes = 0
  /** What may wait for its reader: a part of what was missed when it began, and EVENTS_WAITING_BYTES_MAX. */
  #waitingMax = 0
  /**
   * Consecutive checks that found a backlog. Not measured in time: after an import, or while this process was not scheduled,
   * even a fast reader lags.
   */
  #lateChecks = 0

  constructor(request: Request, filter: Filter, access: Access | undefined, all: Surroundings) {
    this.#request = request
    this.filter = access === undefined ? filter : (access.limit(filter) ?? {})
    this.access = access
    this.filterKey = keyOfFilter(filter, access)
    this.#all = all
  }

  /** Position up to which the events were sent. */
  get after(): number {
    return this.#after
  }

  get hasRoom(): boolean {
    return this.#sink?.hasRoom === true
  }

  startAfter(place: number | undefined) {
    this.#isReset = place === undefined
    this.#after = place ?? this.#all.place()
    this.#idAfter = this.#after
    this.#waitingMax = this.#all.waitingBytes(this.#after) + EVENTS_WAITING_BYTES_MAX
  }

  begin(sink: LiveSink): void {
    this.#sink = sink
    const beginning = beginningText(this.#all.idOf(this.#after, this.access))
    this.#write(pieceOf(this.#isReset ? beginning + resetText(this.#all.tag(this.access)) : beginning))
    if (this.#isOver) this.giveWay()
    else this.#all.sendNow()
  }

  drained(): void {
    this.#all.sendNow()
  }

  closed(): void {
    this.#sink = undefined
    this.leave()
    this.#all.closed(this)
  }

  giveWay(): void {
    // It may not have begun.
    this.#isOver = true
    if (this.hasRoom) this.#sink?.end()
    else this.#sink?.cut()
    this.closed()
  }

  /** Whether events may be sent to it now. Ends it if its credential has ended, or has another scope. */
  canReceive(credentials: CredentialChecks): boolean {
    if (this.#sink === undefined) return false
    if (credentials.hasEnded(this.#request)) {
      this.giveWay()
      return false
    }
    if (!this.#sink.hasRoom) return false
    this.#lateChecks = 0
    return true
  }

  send({ live, upTo }: EventPiece): void {
    this.#after = upTo
    if (live === undefined) return
    this.#idAfter = upTo
    this.#write(live)
  }

  /** Sends that changes are missing. */
  reset(): void {
    this.#after = this.#all.place()
    this.#idAfter = this.#after
    this.#write(pieceOf(resetText(this.#all.tag(this.access))))
  }

  look(nowMs: number): void {
    if (this.#sink === undefined) return
    if (!isAsAdmitted(this.#request)) this.giveWay()
    else if (!this.#sink.hasRoom) {
      if (this.#isSlow(nowMs)) this.#sink.cut()
    } else if (nowMs - this.#sentMs >= EVENTS_COMMENT_MS) this.#comment()
  }

  #comment() {
    // Changes that its filter leaves out must not make it too old to go on.
    const isFurther = this.#after > this.#idAfter
    this.#write(isFurther ? pieceOf(commentText(this.#all.idOf(this.#after, this.access))) : COMMENT)
    this.#idAfter = this.#after
  }

  #write(piece: LivePiece) {
    this.#sentMs = performance.now()
    this.#sink?.send(piece)
  }

  /** Call it at each look. */
  #isSlow(nowMs: number): boolean {
    const waiting = this.#all.waitingBytes(this.#after)
    const passed = this.#sink?.passedBytes ?? 0
    if (passed !== this.#passedBytes) {
      this.#passedBytes = passed
      this.#passedMs = nowMs
    }
    this.#lateChecks = waiting > this.#waitingMax ? this.#lateChecks + 1 : 0
    this.#waitingMax = Math.min(this.#waitingMax, waiting + EVENTS_WAITING_BYTES_MAX)
    const isStalled = nowMs - Math.max(this.#passedMs, this.#sentMs) > TAKING_TIMEOUT_MS
    return isStalled || this.#lateChecks > EVENTS_LATE_LOOKS_MAX
  }
}

function pieceOf(text: string): LivePiece {
  return new LivePiece(Buffer.from(text))
}
