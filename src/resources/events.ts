import type { Fault } from '../errors.ts'
import type { Reply, Request } from '../http/message.ts'
import { HOSTNAME_CHARACTERS_MAX, NAME_CHARACTERS_MAX, USERNAME_CHARACTERS_MAX } from '../limits.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import type { Filter } from '../store/record-filter.ts'
import type { EventStreams, Wanted } from './event-streams.ts'
import { parseEventId, revisionOf } from './event-text.ts'
import { checkQuery, parseQuery } from './query.ts'

const parameters = ['since', 'prefix', 'name', 'hostname', 'port', 'username'] as const
const charactersMax = {
  prefix: NAME_CHARACTERS_MAX,
  name: NAME_CHARACTERS_MAX,
  hostname: HOSTNAME_CHARACTERS_MAX,
  username: USERNAME_CHARACTERS_MAX,
} as const
const PORT_MAX = 65_535
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
    const query = parseQuery(text, parameters)
    const { values, faults } = query
    const sent = String(headers['last-event-id'] ?? '')
    const [field, seen] = sent === '' ? ['since', values.since] : ['Last-Event-ID', sent]
    const id = seen === undefined ? undefined : parseEventId(seen)
    if (seen !== undefined && id === undefined)
      faults.push({ field, detail: 'must be the id of an event, or the ETag of a list without its quotes' })
    const filter = parseFilter(values, faults)
    checkQuery(query)
    return { after: id === undefined ? store.revision : revisionOf(store, id), filter }
  }
}

function parseFilter(
  { port, ...texts }: Partial<Record<(typeof parameters)[number], string>>,
  faults: Fault[],
): Filter {
  const filter: Record<string, string | number> = {}
  for (const field of ['prefix', 'name', 'hostname', 'username'] as const) {
    const text = texts[field]
    if (text === undefined) continue
    const max = charactersMax[field]
    if (text === '' || [...text].length > max)
      faults.push({ field, detail: `must have 1 to ${max} characters` })
    filter[field] = text
  }
  if (port !== undefined) {
    filter.port = /^[1-9]\d{0,4}$/.test(port) ? Number(port) : 0
    if (filter.port === 0 || filter.port > PORT_MAX)
      faults.push({ field: 'port', detail: `must be a plain decimal integer from 1 to ${PORT_MAX}` })
  }
  return filter as Filter
}
