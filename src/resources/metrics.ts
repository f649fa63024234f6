import { type Reply, textReply } from '../http/message.ts'
import { formatMetrics, METRICS_TYPE } from '../metrics/exposition.ts'
import type { Family } from '../metrics/family.ts'

export function metricsHandlers(families: readonly Family[]) {
  return { read }

  function read(): Reply {
    return textReply(200, formatMetrics(families), { 'Content-Type': METRICS_TYPE })
  }
}
