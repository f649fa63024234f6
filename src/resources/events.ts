import { setTimeout } from 'node:timers/promises'
import type { Reply, Request } from '../http/message.ts'
import { EVENTS_AHEAD_MS } from '../limits.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { storeOfTag } from '../store/list-tag.ts'
import type { Filter } from '../store/record-filter.ts'
import type { EventStreams } from './event-streams.ts'
import { type EventId, parseEventId, placeNow, placeOf } from './event-text.ts'
import { filterNames, parseFilter, repeatableFilterNames } from './filter-query.ts'
import { checkQuery, parseQuery } from './query.ts'

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
    const isAhead = id?.store === storeOfTag(store.id) && id.revision > store.revision
    const later = isAhead ? store.catchUp() : undefined
    // Another node has told it; this one may hear of it in a moment.
    return later === undefined
      ? begin(request, id, filter)
      : soon(later).then(() => begin(request, id, filter))
  }

  function begin(request: Request, id: EventId | undefined, filter: Filter): Reply {
    const wanted = { after: id === undefined ? placeNow(store) : placeOf(store, id), filter }
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
