import { SERVED_RECORD_CHARACTERS_MAX } from '../limits.ts'
import { OtherAnswerError } from './refused.ts'

/** One event of a stream (WHATWG HTML section 9.2.6), or a change of its id alone. */
export interface StreamedEvent {
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
