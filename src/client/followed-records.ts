import { setTimeout } from 'node:timers/promises'
import { isObject, parseJson } from '../json.ts'
import { EVENTS_RETRY_MS, SERVED_RECORD_CHARACTERS_MAX } from '../limits.ts'
import type { Configuration } from '../store/configuration.ts'
import { type Filter, matcherOf } from '../store/record-filter.ts'
import { NoAnswerError, UnreachableError } from './call.ts'
import type { Client } from './client.ts'
import { listPath, type QueryValues, queryOf } from './endpoint.ts'
import { openList } from './record-stream.ts'
import { OtherAnswerError, RefusedError } from './refused.ts'
import { parseServedRecord } from './served-record.ts'

/** One change of a record. */
export interface FollowedChange {
  readonly event: 'added' | 'modified' | 'removed'
  /** As the server names it; after a gap in the stream, the tag of the list that filled it. */
  readonly id: string
  /** As it is now; of a removed one, as it was. */
  readonly record: Configuration
  /** As a modified one was. */
  readonly before?: Configuration
}

export interface Following {
  /** The same as `query`, to judge records here. */
  readonly filter: Filter
  /** The parameters of the filter. */
  readonly query: QueryValues
  /** Told why a stream broke; it is opened again. */
  onBroken(reason: string): void
  /** Waits before a stream is opened again. */
  pause?(ms: number): Promise<unknown>
}

/**
 * Follows the changes of the records that a filter keeps, before or after a change, without end. Each is given once: a
 * broken stream goes on where it broke, and where the server no longer knows the changes, the list is compared with what
 * is known. So it holds all records that the filter keeps.
 *
 * @throws {RefusedError} when the credential has ended. As `Client.open` does, if the first call fails.
 */
export async function* followChanges(
  client: Client,
  { filter, query, onBroken, pause = (ms) => setTimeout(ms) }: Following,
): AsyncGenerator<readonly FollowedChange[]> {
  const matches = matcherOf(filter)
  let { tag: id, records } = await readList(client, query)
  let retryMs = EVENTS_RETRY_MS
  for (;;) {
    let reason = 'the server has ended the stream'
    try {
      const { body } = await client.open({
        method: 'GET',
        path: `/v1/events${queryOf(query)}`,
        headers: { 'Last-Event-ID': id },
      })
      for await (const event of readEvents(body)) {
        retryMs = event.retryMs ?? retryMs
        if (event.event === 'reset') {
          const now = await readList(client, query)
          const changes = differences(records, now.records, now.tag)
          id = now.tag
          records = now.records
          if (changes.length > 0) yield changes
          // The stream goes on from another moment than the list.
          reason = 'the server no longer knows all changes since then; the list has told them'
          break
        }
        const change = event.event === undefined ? undefined : parseChange(event)
        id = event.id ?? id
        if (change === undefined) continue
        if (change.event === 'removed' || !matches(change.record)) records.delete(change.record.id)
        else records.set(change.record.id, change.record)
        yield [change]
      }
    } catch (error) {
      if (!isPassing(error)) throw error
      reason = error.message
    }
    onBroken(reason)
    await pause(retryMs)
  }
}

/** Whether the server did not answer, or could not, so that a later try may succeed. */
export function isPassing(error: unknown): error is Error {
  if (error instanceof RefusedError) return error.status === 429 || error.status >= 500
  return error instanceof NoAnswerError || error instanceof UnreachableError
}

async function readList(client: Client, query: QueryValues) {
  const { tag, pieces } = await openList(client, listPath(query))
  const records = new Map<number, Configuration>()
  for await (const piece of pieces) for (const { record } of piece) records.set(record.id, record)
  const id = /^"(.*)"$/.exec(tag ?? '')?.[1]
  if (id === undefined) throw new OtherAnswerError('The list has no ETag; does a proxy remove it?')
  return { tag: id, records }
}

function differences(
  before: ReadonlyMap<number, Configuration>,
  after: ReadonlyMap<number, Configuration>,
  id: string,
): FollowedChange[] {
  const changes: FollowedChange[] = []
  for (const record of before.values())
    if (!after.has(record.id)) changes.push({ event: 'removed', id, record })
  for (const record of after.values()) {
    const old = before.get(record.id)
    if (old === undefined) changes.push({ event: 'added', id, record })
    else if (old.json !== record.json) changes.push({ event: 'modified', id, record, before: old })
  }
  return changes
}

function parseChange({ event, data, id }: StreamedEvent): FollowedChange {
  const parsed = parseJson(data)
  const isKnown = event === 'added' || event === 'modified' || event === 'removed'
  try {
    if (!isKnown || !isObject(parsed) || id === undefined) throw new SyntaxError('it is no change')
    const record = parseServedRecord(parsed.configuration)
    return event === 'modified'
      ? { event, id, record, before: parseServedRecord(parsed.before) }
      : { event, id, record }
  } catch (cause) {
    throw new OtherAnswerError(`The event stream has something that is no change of a record`, { cause })
  }
}

/** One event of a stream (WHATWG HTML section 9.2.6), or a change of its id alone. */
interface StreamedEvent {
  /** Undefined if the stream only said up to which change it is complete. */
  readonly event: string | undefined
  readonly data: string
  /** The last id that the stream has named; undefined if it has named none. */
  readonly id: string | undefined
  /** How long to wait before the stream is opened again, if it says so here, in milliseconds. */
  readonly retryMs: number | undefined
}

/**
 * Reads an event stream. An event that has not ended when the stream does is dropped, as the standard has it.
 *
 * @throws what `body` throws; {OtherAnswerError} for a line that is too long.
 */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<StreamedEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  let [event, id, retryMs]: [string | undefined, string | undefined, number | undefined] = [
    undefined,
    undefined,
    undefined,
  ]
  let data: string[] = []
  for await (const bytes of body) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > SERVED_RECORD_CHARACTERS_MAX)
      throw new OtherAnswerError('A line of the event stream is too long; is it a connbook?')
    for (const line of lines) {
      const text = line.endsWith('\r') ? line.slice(0, -1) : line
      if (text === '') {
        yield {
          event: data.length === 0 ? undefined : (event ?? 'message'),
          data: data.join('\n'),
          id,
          retryMs,
        }
        event = undefined
        retryMs = undefined
        data = []
        continue
      }
      const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(text) ?? []
      if (field === 'event') event = value
      else if (field === 'data') data.push(value)
      else if (field === 'id') id = value
      else if (field === 'retry' && /^\d{1,9}$/.test(value)) retryMs = Number(value)
    }
  }
}
