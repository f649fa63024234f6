import type { Reply } from '../http/message.ts'
import { formatMetrics, METRICS_TYPE } from '../metrics/exposition.ts'
import type { Family } from '../metrics/family.ts'

export function metricsHandlers(families: readonly Family[]) {
  return { read }

  function read(): Reply {
    const headers = { 'Content-Type': METRICS_TYPE, 'Cache-Control': 'no-store' }
    return { status: 200, headers, body: formatMetrics(families) }
  }
}
