import type { Clock } from '../auth/clock.ts'
import { type Reply, type Request, textReply } from '../http/message.ts'
import { formatMetrics, METRICS_TYPE } from '../metrics/exposition.ts'
import type { Family } from '../metrics/family.ts'
import { FOR_ALL, type ShortWorkScheduler } from '../scheduler.ts'
import { plainText } from './bodies.ts'
import { checkQuery, parseQuery } from './query.ts'
import { defineResource } from './resource.ts'

/** Whoever asks for the metrics in this time gets the same text. */
export const METRICS_KEPT_MS = 500

/** The metrics. */
export const metrics = defineResource({
  handlers: ({ metrics, scheduler, clock }) => metricsHandlers(metrics, scheduler, clock),
  routes: [
    {
      method: 'GET',
      path: '/metrics',
      access: 'read',
      limits: 'refused',
      needsNoState: true,
      publicBy: 'metricsPublic',
      summary: 'gets the metrics, in the text format of Prometheus',
      answers: '200',
      operation: {
        id: 'getMetrics',
        tag: 'operation',
        answers: { 200: { description: 'The metrics.', content: plainText() } },
        problems: ['invalid_input'],
      },
      handler: 'read',
    },
  ],
})

/**
 * @param scheduler Makes the text, once for all who ask meanwhile: with `--metrics-public` these may be strangers.
 */
export function metricsHandlers(
  families: readonly Family[],
  scheduler: ShortWorkScheduler,
  { elapsed }: Pick<Clock, 'elapsed'>,
) {
  let kept: { readonly reply: Reply; readonly madeMs: number } | undefined
  let making: Promise<Reply> | undefined
  return { read }

  function read({ query }: Pick<Request, 'query'>): Reply | Promise<Reply> {
    checkQuery(parseQuery(query, []))
    if (kept !== undefined && elapsed() - kept.madeMs < METRICS_KEPT_MS) return kept.reply
    making ??= scheduler.once(FOR_ALL, make).finally(() => {
      making = undefined
    })
    return making
  }

  function make(): Reply {
    const text = textReply(200, '', { 'Content-Type': METRICS_TYPE })
    // As bytes, which all answers share.
    const reply = { ...text, body: Buffer.from(formatMetrics(families)) }
    kept = { reply, madeMs: elapsed() }
    return reply
  }
}
