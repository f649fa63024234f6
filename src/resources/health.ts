import { jsonReply } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import type { Route } from '../http/router.ts'

/** @param whyNotReady Tells what keeps the service from taking changes; undefined when nothing does. */
export function healthRoutes(whyNotReady: () => string | undefined): Route[] {
  return [
    { method: 'GET', path: '/healthz', access: 'public', handle: healthz },
    { method: 'GET', path: '/readyz', access: 'public', handle: readyz },
  ]

  function healthz() {
    return jsonReply(200, { status: 'ok' }, { 'Cache-Control': 'no-store' })
  }

  function readyz() {
    const reason = whyNotReady()
    if (reason !== undefined) throw new Problem(503, 'not_ready', reason, { headers: { 'Retry-After': '5' } })
    return jsonReply(200, { status: 'ready' }, { 'Cache-Control': 'no-store' })
  }
}
