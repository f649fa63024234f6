import { OverloadedError } from '../errors.ts'

interface Waiter {
  readonly admit: () => void
  readonly refuse: (error: OverloadedError) => void
}

/**
 * Lets a few jobs run at once, and shares the queue for them fairly between networks: each in turn has one job admitted,
 * so a network waits only for its own jobs and one of each other.
 */
export interface FairQueue {
  /**
   * Resolves when the job may run; then call `leave` at its end.
   *
   * @throws {OverloadedError} when the queue is full, and no other network has more jobs waiting; also later, when a
   *   network with fewer needs the place.
   */
  enter(network: string): Promise<void>
  leave(): void
}

/**
 * @param runningMax Jobs at once.
 * @param waitingMax Jobs that wait, of all networks together.
 * @param refusal The message of the error.
 */
export function createFairQueue(runningMax: number, waitingMax: number, refusal: string): FairQueue {
  let running = 0
  let waiting = 0
  /** By network, the next to be served first; none is empty. */
  const lines = new Map<string, Waiter[]>()

  return {
    async enter(network) {
      if (running < runningMax) {
        running += 1
        return
      }
      if (waiting >= waitingMax) makeRoom(network)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const line = lines.get(network) ?? []
      line.push({ admit: resolve, refuse: reject })
      lines.set(network, line)
      waiting += 1
      await promise
    },

    /** Hands the place to the next in line, or frees it. */
    leave() {
      const [network, line] = lines.entries().next().value ?? []
      const next = line?.shift()
      if (network === undefined || line === undefined || next === undefined) {
        running -= 1
        return
      }
      lines.delete(network)
      if (line.length > 0) lines.set(network, line)
      waiting -= 1
      next.admit()
    },
  }

  /** Refuses the last job of the network that has most, unless `network` would then have as many. */
  function makeRoom(network: string) {
    let longest: Waiter[] = []
    for (const line of lines.values()) if (line.length > longest.length) longest = line
    const own = lines.get(network)?.length ?? 0
    if (own + 1 >= longest.length) throw new OverloadedError(refusal)
    longest.pop()?.refuse(new OverloadedError(refusal))
    waiting -= 1
  }
}
