import type { Log } from '../log.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Connection, Connections } from './connections.ts'
import type { HeldBytes } from './held-bytes.ts'
import type { createRequestIds } from './incoming-request.ts'
import type { Intake } from './intake.ts'
import type { KeptVersions } from './kept-versions.ts'
import type { RequestMetrics } from './request-metrics.ts'

/** Between log lines about connections that were cut off. */
export const CUT_OFF_LOG_PAUSE_MS = 60_000

/** What the parts of the listener share. */
export interface ListenerParts {
  readonly connections: Connections
  readonly intake: Intake
  readonly metrics: RequestMetrics
  readonly scheduler: Pick<Scheduler, 'once' | 'resume'>
  /** What clients have not taken of answers. */
  readonly untaken: HeldBytes
  /** Bodies that have not arrived as a whole. */
  readonly arriving: HeldBytes
  readonly kept: KeptVersions
  readonly log: Log
  /** The headers of every answer: name, value, name, value and so on. */
  readonly fixedHeaders: readonly string[]
  readonly nameRequest: ReturnType<typeof createRequestIds>
  readonly cutOff: ReturnType<typeof createCutOff>
}

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
