import { callerKey, type Reply, type Request } from '../http/message.ts'
import { parseWait } from '../http/prefer.ts'
import { POLL_WAIT_SECONDS_MAX, WAITING_CALLS_LOOK_MS } from '../limits.ts'
import type { Scheduler } from '../scheduler.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { hasEnded, type WaitingCall, type WaitingCalls } from './waiting-calls.ts'

/** The answer as it is now. */
type Answer = () => Reply | Promise<Reply>

/** Reads that wait until what they read has changed (RFC 7240 section 4.3). */
export class WaitingPolls {
  readonly #scheduler: Pick<Scheduler, 'once'>
  readonly #calls: WaitingCalls
  readonly #ofList = new Set<WaitingPoll>()
  readonly #ofRecord = new Map<string, Set<WaitingPoll>>()
  #count = 0

  constructor(store: ConfigurationStore, scheduler: Pick<Scheduler, 'once'>, calls: WaitingCalls) {
    this.#scheduler = scheduler
    this.#calls = calls
    store.onDurable((change, _, before) => {
      if (this.#count === 0) return
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
   * @param name Of the record that it reads; undefined for a list.
   * @throws {Problem} 503 if too many wait; 403 if the credential ends meanwhile. What `answer` throws.
   */
  answer(request: Request, name: string | undefined, answer: Answer): Reply | Promise<Reply> {
    const { prefer, 'if-none-match': seen } = request.headers
    if (prefer === undefined || seen === undefined) return answer()
    const seconds = Math.min(parseWait(prefer) ?? 0, POLL_WAIT_SECONDS_MAX)
    if (seconds === 0) return answer()
    return this.#waited(request, name, answer, seconds)
  }

  async #waited(request: Request, name: string | undefined, answer: Answer, seconds: number) {
    const { signal } = request
    const poll = new WaitingPoll(request, performance.now() + seconds * 1000)
    let leave: (() => void) | undefined
    try {
      for (;;) {
        const changed = poll.changed()
        // Before the state is read, so that no change is missed.
        const forget = this.#remember(poll, name)
        try {
          const reply = await answer()
          if (reply.status !== 304 || poll.isOver) return applied(reply, seconds)
          leave ??= this.#calls.enter(request, poll)
          signal.addEventListener('abort', poll.giveWay, { once: true })
          request.isWaiting = true
          await changed
        } finally {
          forget()
        }
        // One change may wake a thousand.
        await this.#scheduler.once(callerKey(request), () => {})
        signal.throwIfAborted()
        await request.checkAgain?.()
      }
    } finally {
      request.isWaiting = false
      leave?.()
      signal.removeEventListener('abort', poll.giveWay)
    }
  }

  #remember(poll: WaitingPoll, name: string | undefined): () => void {
    const polls = name === undefined ? this.#ofList : (this.#ofRecord.get(name) ?? new Set())
    if (name !== undefined) this.#ofRecord.set(name, polls)
    polls.add(poll)
    this.#count += 1
    return () => {
      this.#count -= 1
      polls.delete(poll)
      if (name !== undefined && polls.size === 0 && this.#ofRecord.get(name) === polls)
        this.#ofRecord.delete(name)
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
  isOver = false

  /** @param untilMs By `performance.now()`. */
  constructor(request: Request, untilMs: number) {
    this.#request = request
    this.#untilMs = untilMs
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
    else if (hasEnded(this.#request)) this.wake()
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
