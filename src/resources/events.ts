import type { Reply, Request } from '../http/message.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import type { EventStreams, Wanted } from './event-streams.ts'
import { parseEventId, placeNow, placeOf } from './event-text.ts'
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

  function follow(request: Request): Reply {
    const wanted = parseWanted(request)
    if (request.method === 'HEAD') return { status: 200, headers }
    const body = streams.open(request, wanted)
    request.isWaiting = true
    return { status: 200, headers, body }
  }

  /** @throws {InvalidInputError} naming every faulty parameter. */
  function parseWanted({ query: text, headers }: Request): Wanted {
    const query = parseQuery(text, parameters, repeatableFilterNames)
    const { values, faults } = query
    const sent = String(headers['last-event-id'] ?? '')
    const [field, seen] = sent === '' ? ['since', values.since] : ['Last-Event-ID', sent]
    const id = seen === undefined ? undefined : parseEventId(seen)
    if (seen !== undefined && id === undefined)
      faults.push({ field, detail: 'must be the id of an event, or the ETag of a list without its quotes' })
    const filter = parseFilter(query) ?? NO_FILTER
    checkQuery(query)
    return { after: id === undefined ? placeNow(store) : placeOf(store, id), filter }
  }
}
