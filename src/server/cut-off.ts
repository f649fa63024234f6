import { CUT_OFF_LOG_PAUSE_MS } from '../limits.ts'
import type { Log } from '../log.ts'
import type { Connection } from './connection.ts'
import type { RequestMetrics } from './request-metrics.ts'

/** Closes connections to make room, counts them, and logs at most one per CUT_OFF_LOG_PAUSE_MS. */
export function createCutOff(log: Log, metrics: RequestMetrics) {
  let loggedMs = Number.NEGATIVE_INFINITY
  return ({ socket, origin }: Connection, reason: string): void => {
    socket.destroy()
    metrics.cutOff.increment()
    const now = performance.now()
    if (now - loggedMs < CUT_OFF_LOG_PAUSE_MS) return
    loggedMs = now
    log.warn('connection_cut_off', { address: origin.address, reason })
  }
}
