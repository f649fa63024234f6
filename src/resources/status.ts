import { jsonReply, type Reply, type Request } from '../http/message.ts'
import { MOMENT_MS, type RecentFigures } from '../metrics/recent-figures.ts'
import { version } from '../version.ts'
import { json } from './bodies.ts'
import { checkQuery, parseQuery } from './query.ts'
import { defineResource, type Parts } from './resource.ts'

/** How the server does, for people. */
export const status = defineResource({
  handlers: statusHandlers,
  routes: [
    {
      method: 'GET',
      path: '/v1/status',
      access: 'read',
      limits: 'refused',
      needsNoState: true,
      summary: 'says how the server does, and how it did in the last 15 minutes',
      answers: '200',
      operation: {
        id: 'getStatus',
        tag: 'operation',
        notes: 'What has no value yet is absent. Times are in UTC.',
        answers: { 200: { description: 'How the server does.', content: json('Status') } },
        problems: ['invalid_input'],
      },
      handler: 'read',
    },
  ],
})

/** Names of times in the answer, and of the gauges with their seconds since 1970. */
const times = {
  started: 'process_start_time_seconds',
  last_backup: 'connbook_backup_last_timestamp_seconds',
  certificate_end: 'connbook_certificate_end_timestamp_seconds',
} as const

type Needs = Pick<Parts, 'whyNotReady' | 'freeBytes'> & {
  readonly recent: Pick<RecentFigures, 'moments' | 'valueOf'>
}

export function statusHandlers({ recent, whyNotReady, freeBytes }: Needs) {
  return { read }

  async function read({ query }: Pick<Request, 'query'>): Promise<Reply> {
    checkQuery(parseQuery(query, []))
    const reason = whyNotReady()
    const free = await freeBytes()
    return jsonReply(200, {
      version,
      ready: reason === undefined,
      ...(reason === undefined ? {} : { reason }),
      writable: recent.valueOf('connbook_writable') === 1,
      ...Object.fromEntries(
        Object.entries(times).flatMap(([member, name]) => {
          const seconds = recent.valueOf(name)
          return seconds === undefined ? [] : [[member, new Date(seconds * 1000).toISOString()]]
        }),
      ),
      ...(free === undefined ? {} : { disk_free_bytes: free }),
      moment_seconds: MOMENT_MS / 1000,
      moments: recent.moments,
    })
  }
}
