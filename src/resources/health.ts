import { jsonReply, type Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import type { Parameter } from '../openapi/operation.ts'
import { json } from './bodies.ts'
import { choice } from './parameters.ts'
import { defineResource, type StartingParts } from './resource.ts'

/** Parameter of `/readyz`. */
const readsParameter: Parameter = choice(
  'reads',
  '`1` asks whether it answers reads; changes may be refused. Without it, both.',
  ['1'],
)

/** Whether the server is alive, and ready. */
export const health = defineResource({
  handlers: ({ whyNotReady, whyNotReadable }: StartingParts) => healthHandlers(whyNotReady, whyNotReadable),
  routes: [
    {
      method: 'GET',
      path: '/healthz',
      access: 'public',
      limits: 'same',
      isThereAtStart: true,
      summary: 'says that the process is alive',
      answers: '200',
      operation: {
        id: 'getHealth',
        tag: 'operation',
        answers: { 200: { description: 'It is alive.', content: json('Health') } },
      },
      handler: 'healthz',
    },
    {
      method: 'GET',
      path: '/readyz',
      access: 'public',
      limits: 'same',
      isThereAtStart: true,
      summary: 'says whether connbook accepts changes; optional: `reads`',
      answers: '200; 503',
      operation: {
        id: 'getReadiness',
        tag: 'operation',
        parameters: [readsParameter],
        answers: { 200: { description: 'It accepts changes, or answers reads.', content: json('Health') } },
        problems: ['not_ready'],
      },
      handler: 'readyz',
    },
  ],
})

/** A question about reads alone. Probes may add what they like. */
const READS = /(?:^|&)reads=1(?:&|$)/

/**
 * @param whyNotReady Why the service cannot take changes now; undefined when it can.
 * @param whyNotReadable Why it cannot answer reads either.
 */
export function healthHandlers(
  whyNotReady: () => string | undefined,
  whyNotReadable: () => string | undefined,
) {
  return { healthz, readyz }

  function healthz() {
    return jsonReply(200, { status: 'ok' })
  }

  function readyz({ query }: Pick<Request, 'query'>) {
    const reason = READS.test(query) ? whyNotReadable() : whyNotReady()
    if (reason !== undefined) throw new Problem('not_ready', reason)
    return jsonReply(200, { status: 'ready' })
  }
}
