import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { Lifetime } from './temporary-folder.ts'

export interface ToldEvent {
  readonly event: string
  readonly id: string
  readonly data: {
    readonly configuration?: { readonly id: number; readonly name: string; readonly port: number }
    readonly before?: { readonly name: string; readonly port: number }
  }
}

/** An open event stream. */
export interface EventReader {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly answer: IncomingMessage
  /** All that has come. */
  readonly text: () => string
  /** The events so far. */
  readonly events: () => ToldEvent[]
  /** Resolves with the events once there are so many. */
  take(count: number): Promise<ToldEvent[]>
  /** Resolves once the text so far has it. */
  until(part: string): Promise<void>
  /** Resolves when the stream has ended, however. */
  readonly ended: Promise<void>
}

/** Opens an event stream, and reads it until the test ends. @param path Begins with `/v1/events`. */
export async function readEvents(
  t: Lifetime,
  url: string,
  headers: Record<string, string>,
  path = '/v1/events',
): Promise<EventReader> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const outgoing = request(url + path, { headers, agent: false }, resolve)
    .on('error', reject)
    .end()
  t.after(() => void outgoing.destroy())
  const answer = await promise
  let text = ''
  /** What follows the last whole block: the events are read once, not again with each piece. */
  let rest = ''
  const told: ToldEvent[] = []
  const lookers = new Set<(piece: string) => void>()
  const over = Promise.withResolvers<void>()
  answer.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
    rest += piece
    const end = rest.lastIndexOf('\n\n')
    if (end !== -1) {
      told.push(...eventsIn(rest))
      rest = rest.slice(end + 2)
    }
    for (const look of [...lookers]) look(piece)
  })
  answer.on('error', () => {})
  answer.once('close', () => {
    over.resolve()
    for (const look of [...lookers]) look('')
  })
  const wait = (what: string, holds: (piece: string) => boolean) => {
    const held = Promise.withResolvers<void>()
    const look = (piece: string) => {
      const isHeld = holds(piece)
      if (!isHeld && !answer.closed) return
      lookers.delete(look)
      if (isHeld) held.resolve()
      else held.reject(new Error(`the stream ended before ${what}; it had ${JSON.stringify(text)}`))
    }
    lookers.add(look)
    look(text)
    return held.promise
  }
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    answer,
    text: () => text,
    events: () => [...told],
    async take(count) {
      await wait(`${count} events`, () => told.length >= count)
      return [...told]
    },
    until(part) {
      // Only what is new is searched, with what the part may begin in.
      let tail = ''
      return wait(part, (piece) => {
        const searched = tail + piece
        tail = searched.slice(-part.length)
        return searched.includes(part)
      })
    },
    ended: over.promise,
  }
}

/** The events of a stream; blocks without data are none. */
export function eventsIn(text: string): ToldEvent[] {
  const blocks = text.split('\n\n').slice(0, -1)
  return blocks.flatMap((block) => {
    const fields = Object.fromEntries(
      block.split('\n').map((line) => {
        const mark = line.indexOf(': ')
        return [line.slice(0, mark), line.slice(mark + 2)]
      }),
    )
    const { event, id, data } = fields
    return event === undefined || id === undefined || data === undefined
      ? []
      : [{ event, id, data: JSON.parse(data) }]
  })
}
