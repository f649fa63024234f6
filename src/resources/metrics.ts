import type { Reply } from '../http/message.ts'
import type { Route } from '../http/router.ts'
import { formatMetrics, METRICS_TYPE } from '../metrics/exposition.ts'
import type { Family } from '../metrics/family.ts'

/** @param isPublic Whether everybody may read them, and not only who has a credential. */
export function metricsRoutes(families: readonly Family[], isPublic: boolean): Route[] {
  return [{ method: 'GET', path: '/metrics', access: isPublic ? 'public' : 'read', handle: read }]

  function read(): Reply {
    const headers = { 'Content-Type': METRICS_TYPE, 'Cache-Control': 'no-store' }
    return { status: 200, headers, body: formatMetrics(families) }
  }
}
