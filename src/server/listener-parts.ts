import type { Log } from '../log.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Connections } from './connections.ts'
import type { createCutOff } from './cut-off.ts'
import type { HeldBytes } from './held-bytes.ts'
import type { createRequestIds } from './incoming-request.ts'
import type { Intake } from './intake.ts'
import type { KeptVersions } from './kept-versions.ts'
import type { RequestMetrics } from './request-metrics.ts'

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
  /** Of every answer: name, value, name, value and so on. */
  readonly fixedHeaders: readonly string[]
  readonly nameRequest: ReturnType<typeof createRequestIds>
  readonly cutOff: ReturnType<typeof createCutOff>
}
