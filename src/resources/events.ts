import { setTimeout } from 'node:timers/promises'
import type { Reply, Request } from '../http/message.ts'
import type { Parameter } from '../openapi/operation.ts'
import { accessOf } from '../store/access.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { storeOfTag } from '../store/list-tag.ts'
import type { Filter } from '../store/record-filter.ts'
import { inCode } from '../text.ts'
import type { EventStreams } from './event-streams.ts'
import { type EventId, parseEventId, placeNow, placeOf, seenBy } from './event-text.ts'
import { filterNames, parseFilter, repeatableFilterNames } from './filter-query.ts'
import { filterParameters } from './parameters.ts'
import { checkQuery, parseQuery } from './query.ts'
import { defineResource } from './resource.ts'

/** How long a stream waits for what another node has sent to its reader already. */
const EVENTS_AHEAD_MS = 1_000

const eventParameters: readonly Parameter[] = [
  {
    name: 'since',
    in: 'query',
    description: 'The id of the last event that was seen, or the `ETag` of a list without its quotes.',
    schema: { type: 'string', minLength: 1 },
  },
  {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'The same; it counts more than `since`.',
    schema: { type: 'string' },
  },
  ...filterParameters,
]

/** Changes as they happen. */
export const events = defineResource({
  handlers: ({ store, subscriptions }) => eventHandlers(store, subscriptions.streams),
  routes: [
    {
      method: 'GET',
      path: '/v1/events',
      access: 'read',
      limits: 'records',
      summary: `streams changes as they happen; optional: ${inCode(['since', ...filterNames, 'label'])}`,
      answers: '200 `text/event-stream`',
      operation: {
        id: 'followChanges',
        tag: 'configurations',
        notes:
          'Events `added`, `modified` and `removed`, each with one line of JSON as its data: `configuration`, and for `modified` also `before`. The `id` is the `ETag` of the list after it, without the quotes. After an event `reset`, read the list again.',
        parameters: eventParameters,
        answers: {
          200: {
            description: 'The stream, which goes on until the credential ends.',
            headers: ['X-Accel-Buffering'],
            content: { 'text/event-stream': { type: 'string' } },
          },
        },
        problems: ['overloaded'],
      },
      handler: 'follow',
    },
  ],
})

const parameters = ['since', ...filterNames] as const
/** One for all streams without a filter. */
const NO_FILTER = {}
const headers = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  // nginx would keep events back.
  'X-Accel-Buffering': 'no',
}

export function eventHandlers(store: ConfigurationStore, streams: EventStreams) {
  return { follow }

  function follow(request: Request): Reply | Promise<Reply> {
    const { id, filter } = parseWanted(request)
    const { id: storeId } = seenBy(accessOf(request), store)
    const isAhead = id?.store === storeOfTag(storeId) && id.revision > store.revision
    const later = isAhead ? store.catchUp() : undefined
    // Another node has sent it; this node may get it in a moment.
    return later === undefined
      ? begin(request, id, filter)
      : soon(later).then(() => begin(request, id, filter))
  }

  function begin(request: Request, id: EventId | undefined, filter: Filter): Reply {
    const access = accessOf(request)
    const after = id === undefined ? placeNow(store) : placeOf(seenBy(access, store), id)
    const wanted = { after, filter, access }
    if (request.method === 'HEAD') return { status: 200, headers }
    const body = streams.open(request, wanted)
    request.isWaiting = true
    return { status: 200, headers, body }
  }

  /** @throws {InvalidInputError} naming every faulty parameter. */
  function parseWanted({ query: text, headers }: Request) {
    const query = parseQuery(text, parameters, repeatableFilterNames)
    const { values, faults } = query
    const sent = String(headers['last-event-id'] ?? '')
    const [field, seen] = sent === '' ? ['since', values.since] : ['Last-Event-ID', sent]
    const id = seen === undefined ? undefined : parseEventId(seen)
    if (seen !== undefined && id === undefined)
      faults.push({ field, detail: 'must be the id of an event, or the ETag of a list without its quotes' })
    const filter = parseFilter(query) ?? NO_FILTER
    checkQuery(query)
    return { id, filter }
  }
}

/** Resolves after EVENTS_AHEAD_MS at most. */
function soon(promise: Promise<void>): Promise<void> {
  return Promise.race([promise.catch(() => {}), setTimeout(EVENTS_AHEAD_MS)])
}
