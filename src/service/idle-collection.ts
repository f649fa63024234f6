import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** How often to look. */
const LOOK_MS = 5_000
/** How much more than after the last collection is worth another one: the more there is, the longer one takes. */
const [GROWTH_BYTES_MIN, GROWTH_SHARE] = [32 * 1024 * 1024, 1 / 4]
/** Share of the time in which an idle server works. */
const IDLE_UTILIZATION_MAX = 0.05

/** The process whose garbage is collected. */
export interface CollectedProcess {
  /** Bytes of the JavaScript heap, and of buffers outside it. */
  held(): number
  /** Share of the time, from 0 to 1, in which the event loop has worked since the last call. */
  utilization(): number
  /** Collects all garbage at once. */
  collect(): void
}

/**
 * Gives back the memory that a burst of requests leaves behind. V8 collects garbage when more is made, so a process that
 * has nothing to do keeps what the last burst left. A collection of everything makes callers wait (with 100,000 records about
 * 40 ms), so it takes place only when nobody has asked for a while, and once a burst.
 *
 * @returns Stops it.
 */
export function collectWhenIdle({ held, utilization, collect } = thisProcess()): () => void {
  let least = held()
  utilization()
  const timer = setInterval(() => {
    const now = held()
    least = Math.min(least, now)
    const isIdle = utilization() < IDLE_UTILIZATION_MAX
    if (!isIdle || now - least < Math.max(GROWTH_BYTES_MIN, least * GROWTH_SHARE)) return
    collect()
    least = held()
  }, LOOK_MS)
  timer.unref()
  return () => clearInterval(timer)
}

/** The process that runs this. */
export function thisProcess(): CollectedProcess {
  let last: EventLoopUtilization | undefined
  let collectAll: (() => void) | undefined
  return {
    held() {
      const { total_heap_size: heap, external_memory: external } = getHeapStatistics()
      return heap + external
    },
    utilization() {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, last)
      last = now
      return utilization
    },
    collect() {
      collectAll ??= exposedCollector()
      collectAll()
    },
  }
}

/** V8 has no other way to ask for a collection of everything without a flag of the command line. */
function exposedCollector(): () => void {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  // V8 takes cached code only from a process with the same flags.
  setFlagsFromString('--no-expose-gc')
  return collect
}
