import { EVENTS_PAUSE_MS } from '../limits.ts'
import type { LongWork } from '../scheduler.ts'
import type { RecentChanges } from '../store/recent-changes.ts'
import { changeMatcherOf, type Filter } from '../store/record-filter.ts'
import { ITEMS_A_STEP } from '../store/slices.ts'
import { keyOfFilter } from './filter-key.ts'
import type { WaitingCalls } from './waiting-calls.ts'

/** The caller of the scheduler for what all of them share. */
const FILTERED_POLLS = 'polls with filters'

/** A poll that waits for a change that its filter can see. */
export interface FilteredPoll {
  readonly filter: Filter
  /** Position up to which its filter sees no change since the tag of its caller. */
  after: number
  /** Called once a later change is one that its filter can see, or may be: when not all of them are known any more. */
  see(): void
}

/** What has been found out for one filter. */
interface PollResult {
  readonly isSeen: boolean
  readonly upTo: number
}

/** Looks at the changes of a store for all polls with filters together. */
export class FilteredPolls {
  readonly #recent: RecentChanges
  readonly #calls: Pick<WaitingCalls, 'run' | 'report'>
  /** With the keys of their filters. */
  readonly #polls = new Map<FilteredPoll, string>()
  #timer: NodeJS.Timeout | undefined
  #isChecking = false
  /** Whether a change or a poll has come since the look under way began. */
  #isBehind = false

  constructor(recent: RecentChanges, calls: Pick<WaitingCalls, 'run' | 'report'>) {
    this.#recent = recent
    this.#calls = calls
  }

  /** Looks at what has changed since `after`, and at each later change. @returns Ends that. */
  add(poll: FilteredPoll): () => void {
    this.#polls.set(poll, keyOfFilter(poll.filter))
    if (poll.after < this.#recent.last) this.checkSoon()
    return () => void this.#polls.delete(poll)
  }

  /** Call it after each change; those within EVENTS_PAUSE_MS are looked at together. */
  checkSoon(): void {
    if (this.#polls.size === 0) return
    if (this.#isChecking) this.#isBehind = true
    else this.#timer ??= setTimeout(() => this.#checkNow(), EVENTS_PAUSE_MS)
  }

  async #checkNow() {
    this.#timer = undefined
    this.#isChecking = true
    this.#isBehind = false
    await this.#calls.run(FILTERED_POLLS, this.#checkAll())
    this.#isChecking = false
    if (this.#isBehind) this.checkSoon()
  }

  *#checkAll(): LongWork<void> {
    const results = new Map<string, PollResult>()
    for (const [poll, filterKey] of this.#polls) {
      yield
      try {
        const key = `${poll.after} ${filterKey}`
        const result = results.get(key) ?? (yield* this.#check(poll))
        results.set(key, result)
        if (result.isSeen) poll.see()
        else poll.after = result.upTo
      } catch (error) {
        this.#calls.report(error)
        poll.see()
      }
    }
  }

  *#check({ filter, after }: FilteredPoll): LongWork<PollResult> {
    const recent = this.#recent
    const matches = changeMatcherOf(filter)
    const last = recent.last
    for (let upTo = after + 1; upTo <= last; upTo += 1) {
      const change = recent.at(upTo)
      if (change === undefined || matches(change)) return { isSeen: true, upTo }
      if (upTo % ITEMS_A_STEP === 0) yield
    }
    // While the changes of a large import are reported, a poll may know of more than were reported.
    return { isSeen: false, upTo: Math.max(after, last) }
  }
}
