import { parseWait, tagsIn } from '../http/header-fields.ts'
import { callerKey, isAsAdmitted, type Reply, type Request } from '../http/message.ts'
import { POLL_WAIT_SECONDS_MAX, WAITING_CALLS_LOOK_MS } from '../limits.ts'
import type { Scheduler } from '../scheduler.ts'
import { accessOf } from '../store/access.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { parseListTag, storeOfTag } from '../store/list-tag.ts'
import type { Filter } from '../store/record-filter.ts'
import { seenBy } from './event-text.ts'
import { FilteredPolls } from './filtered-polls.ts'
import type { WaitingCall, WaitingCalls } from './waiting-calls.ts'

/** The answer as it is now. */
type MakeReply = () => Reply | Promise<Reply>

/** What a poll reads: a list, perhaps with a filter, or the record of a name. */
export type Polled = { readonly list: true; readonly filter?: Filter | undefined } | { readonly name: string }

/** Lets a poll be woken. @returns Ends that. */
type Watch = (poll: WaitingPoll) => () => void

/** Reads that wait until what they read has changed (RFC 7240 section 4.3). */
export class WaitingPolls {
  readonly #store: ConfigurationStore
  readonly #scheduler: Pick<Scheduler, 'once'>
  readonly #calls: WaitingCalls
  readonly #filtered: FilteredPolls
  readonly #ofList = new Set<WaitingPoll>()
  readonly #ofRecord = new Map<string, Set<WaitingPoll>>()
  #count = 0

  constructor(store: ConfigurationStore, scheduler: Pick<Scheduler, 'once'>, calls: WaitingCalls) {
    this.#store = store
    this.#scheduler = scheduler
    this.#calls = calls
    this.#filtered = new FilteredPolls(store.recent, calls)
    store.onReplaced(() => {
      this.#filtered.checkSoon()
      this.#wake(this.#ofList)
      for (const polls of this.#ofRecord.values()) this.#wake(polls)
    })
    store.onDurable((change, _, before) => {
      if (this.#count === 0) return
      this.#filtered.checkSoon()
      this.#wake(this.#ofList)
      const after = 'remove' in change ? undefined : 'add' in change ? change.add : change.modify
      if (before !== undefined) this.#wake(this.#ofRecord.get(before.name))
      if (after !== undefined) this.#wake(this.#ofRecord.get(after.name))
    })
  }

  get count(): number {
    return this.#count
  }

  /**
   * Answers a read. If its caller has seen the present state, and prefers to wait, the answer comes when that has changed, or
   * when the wait is over.
   *
   * @param polled What it reads. A list with a filter waits for a change that the filter can see.
   * @throws {Problem} 503 if too many wait; 403 if the credential ends meanwhile. What `answer` throws.
   * @throws {StorageUnavailableError} if the state becomes too old to be read meanwhile.
   */
  answer(request: Request, polled: Polled, answer: MakeReply): Reply | Promise<Reply> {
    const { prefer, 'if-none-match': seen, 'if-match': expected } = request.headers
    if (prefer === undefined || seen === undefined) return answer()
    const seconds = Math.min(parseWait(prefer) ?? 0, POLL_WAIT_SECONDS_MAX)
    if (seconds === 0) return answer()
    const waited = (watch: Watch) => this.#waited(request, watch, answer, seconds)
    if ('name' in polled) return waited((poll) => this.#watchRecord(poll, polled.name))
    const { filter } = polled
    const place = filter && expected === undefined ? this.#placeOf(seen, request) : undefined
    if (filter === undefined || place === undefined) return waited((poll) => this.#watchList(poll))
    return this.#waitedFor(request, filter, place, answer, seconds)
  }

  /** Waits while the answer is a 304. */
  async #waited(request: Request, watch: Watch, answer: MakeReply, seconds: number) {
    const poll = new WaitingPoll(request, seconds)
    try {
      for (;;) {
        const changed = poll.changed()
        // Before the state is read, so that no change is missed.
        const forget = watch(poll)
        try {
          const reply = await answer()
          if (reply.status !== 304 || poll.isOver) return applied(reply, seconds)
          poll.enter(this.#calls)
          await changed
        } finally {
          forget()
        }
        await this.#takeTurn(request)
      }
    } finally {
      poll.leave()
    }
  }

  /** Waits while the filter sees no change after a place. */
  async #waitedFor(request: Request, filter: Filter, after: number, answer: MakeReply, seconds: number) {
    const poll = new WaitingPoll(request, seconds)
    let isSeen = false
    const see = () => {
      isSeen = true
      poll.wake()
    }
    this.#count += 1
    const forget = this.#filtered.add({ filter, after, see })
    try {
      poll.enter(this.#calls)
      for (let changed = poll.changed(); !isSeen && !poll.isOver; changed = poll.changed()) {
        await changed
        await this.#takeTurn(request)
      }
      return applied(await answer(), seconds)
    } finally {
      this.#count -= 1
      forget()
      poll.leave()
    }
  }

  /**
   * One change may wake a thousand.
   *
   * @throws {Problem} if the client or its credential has gone meanwhile.
   * @throws {StorageUnavailableError} if the state has become too old to be read.
   */
  async #takeTurn(request: Request) {
    await this.#scheduler.once(callerKey(request), () => {})
    request.signal.throwIfAborted()
    this.#calls.checkReadable()
    request.checkAgain?.()
  }

  /** Position of the newest tag in `If-None-Match`; undefined if there is none, or if not all changes since then are known. */
  #placeOf(seen: string, request: Request): number | undefined {
    const { id, revision, recent } = seenBy(accessOf(request), this.#store)
    let newest = -1
    for (const text of tagsIn(seen)) {
      const tag = parseListTag(text)
      if (tag?.store === storeOfTag(id)) newest = Math.max(newest, tag.revision)
    }
    return newest >= 0 && newest <= revision ? recent.placeAt(newest) : undefined
  }

  #watchList(poll: WaitingPoll) {
    return this.#remember(poll, this.#ofList)
  }

  #watchRecord(poll: WaitingPoll, name: string) {
    const polls = this.#ofRecord.get(name) ?? new Set()
    this.#ofRecord.set(name, polls)
    const forget = this.#remember(poll, polls)
    return () => {
      forget()
      if (polls.size === 0 && this.#ofRecord.get(name) === polls) this.#ofRecord.delete(name)
    }
  }

  #remember(poll: WaitingPoll, polls: Set<WaitingPoll>) {
    polls.add(poll)
    this.#count += 1
    return () => {
      this.#count -= 1
      polls.delete(poll)
    }
  }

  #wake(polls: Set<WaitingPoll> | undefined) {
    for (const poll of polls ?? []) poll.wake()
  }
}

/** One read that waits. */
class WaitingPoll implements WaitingCall {
  readonly #request: Request
  readonly #untilMs: number
  #wake = () => {}
  #leave: (() => void) | undefined
  isOver = false

  constructor(request: Request, seconds: number) {
    this.#request = request
    this.#untilMs = performance.now() + seconds * 1000
  }

  /** Takes a place among the waiting calls, unless it has one. @throws {Problem} 503 if there is none. */
  enter(calls: WaitingCalls): void {
    if (this.#leave !== undefined) return
    const { signal } = this.#request
    signal.throwIfAborted()
    this.#leave = calls.enter(this.#request, this)
    signal.addEventListener('abort', this.giveWay, { once: true })
    this.#request.isWaiting = true
  }

  leave(): void {
    this.#request.isWaiting = false
    this.#leave?.()
    if (this.#leave !== undefined) this.#request.signal.removeEventListener('abort', this.giveWay)
  }

  /** Resolves when something has changed, or the wait is over. */
  changed(): Promise<void> {
    if (this.isOver) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    return promise
  }

  wake(): void {
    this.#wake()
  }

  look(nowMs: number): void {
    // The next look would be too late.
    if (nowMs + WAITING_CALLS_LOOK_MS > this.#untilMs) this.giveWay()
    else if (!isAsAdmitted(this.#request)) this.giveWay()
  }

  readonly giveWay = (): void => {
    this.isOver = true
    this.#wake()
  }
}

function applied(reply: Reply, seconds: number): Reply {
  const headers = { ...reply.headers, 'Preference-Applied': `wait=${seconds}`, Vary: 'Prefer' }
  return { ...reply, headers }
}
