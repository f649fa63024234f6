import { OverloadedError } from './errors.ts'

/** Callers, and groups of callers, of which a queue remembers that they were served lately. */
export const QUEUE_RECENT_MAX = 4_096
/** One of this many turns in a queue is for those that were served lately, however many others wait. */
const QUEUE_TURNS_OF_SERVED = 4

interface Waiter {
  /** Keys of the groups that the job is in, widest first, and then of its caller. */
  readonly keys: readonly string[]
  readonly places: number
  readonly admit: () => void
  readonly refuse: (error: OverloadedError) => void
}

/** A caller with its jobs, or a group of callers. None is empty but the one of all. */
interface CallerGroup {
  /** Places taken by its own jobs and by those of all within. */
  taken: number
  /** The next to be served first. */
  readonly waiters: Waiter[]
  /** Groups within by key, the next to be served first: those that were not served lately, and those that were. */
  readonly fresh: Map<string, CallerGroup>
  readonly served: Map<string, CallerGroup>
  turn: number
}

/**
 * Lets a few jobs run at once, and shares the queue for them fairly between callers, and between groups of callers. Each
 * group has one job admitted in turn, and so has each group within it. Those that were not served lately go first, mostly:
 * however many callers come back again and again, another one does not wait for them all.
 */
export interface FairQueue {
  /**
   * Resolves when the job may run; then call `leave` at its end.
   *
   * @param path The groups that the caller is in, the widest first, and the caller. No caller may be a group of others.
   * @param places How many places of the queue the job takes while it waits; fewer than there are.
   * @throws {OverloadedError} when the queue is full, at once or later. The last job of the largest group has to go: on
   *   each level the one with most places, and of several one that was served lately.
   */
  enter(path: readonly string[], places?: number): Promise<void>
  leave(): void
}

/**
 * @param runningMax Jobs at once.
 * @param waitingMax Places for jobs that wait, of all callers together.
 * @param refusal The message of the error.
 */
export function createFairQueue(runningMax: number, waitingMax: number, refusal: string): FairQueue {
  let running = 0
  const all = createGroup()
  /** Keys of those served lately, the least recent first. */
  const recent = new Set<string>()

  return {
    async enter(path, places = 1) {
      const keys = path.map((_, i) => path.slice(0, i + 1).join('\0'))
      if (running < runningMax) {
        running += 1
        remember(keys)
        return
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      add({ keys, places, admit: resolve, refuse: reject })
      while (all.taken > waitingMax) takeLastOfLargest(all)?.refuse(new OverloadedError(refusal))
      await promise
    },

    /** Hands the place to the next in line, or frees it. */
    leave() {
      const next = takeNext(all)
      if (next === undefined) {
        running -= 1
        return
      }
      remember(next.keys)
      next.admit()
    },
  }

  function remember(keys: readonly string[]) {
    for (const key of keys) {
      recent.delete(key)
      recent.add(key)
    }
    for (const key of recent) {
      if (recent.size <= QUEUE_RECENT_MAX) break
      recent.delete(key)
    }
  }

  function add(waiter: Waiter) {
    let group = all
    group.taken += waiter.places
    for (const key of waiter.keys) {
      let inner = group.fresh.get(key) ?? group.served.get(key)
      if (inner === undefined) {
        inner = createGroup()
        const others = recent.has(key) ? group.served : group.fresh
        others.set(key, inner)
      }
      inner.taken += waiter.places
      group = inner
    }
    group.waiters.push(waiter)
  }
}

function createGroup(): CallerGroup {
  return { taken: 0, waiters: [], fresh: new Map(), served: new Map(), turn: 0 }
}

function takeNext(group: CallerGroup): Waiter | undefined {
  group.turn = (group.turn + 1) % QUEUE_TURNS_OF_SERVED
  const isOfServed = group.fresh.size === 0 || (group.turn === 0 && group.served.size > 0)
  const turns = isOfServed ? group.served : group.fresh
  const [key, inner] = turns.entries().next().value ?? []
  const waiter = inner === undefined ? group.waiters.shift() : takeNext(inner)
  if (key !== undefined && inner !== undefined) {
    turns.delete(key)
    if (inner.taken > 0) group.served.set(key, inner)
  }
  group.taken -= waiter?.places ?? 0
  return waiter
}

function takeLastOfLargest(group: CallerGroup): Waiter | undefined {
  let largest:
    | { readonly others: Map<string, CallerGroup>; readonly key: string; readonly inner: CallerGroup }
    | undefined
  // If several are equally large, the last one: it would wait longest for its turn anyway.
  for (const others of [group.fresh, group.served])
    for (const [key, inner] of others)
      if (inner.taken >= (largest?.inner.taken ?? 0)) largest = { others, key, inner }
  const waiter = largest === undefined ? group.waiters.pop() : takeLastOfLargest(largest.inner)
  if (largest?.inner.taken === 0) largest.others.delete(largest.key)
  group.taken -= waiter?.places ?? 0
  return waiter
}
