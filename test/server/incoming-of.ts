import { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'

/** The head of a request; what is left out is a plain GET of `/`. */
export interface Head {
  readonly httpVersion?: string
  readonly url?: string
  readonly fields?: readonly (readonly [name: string, value: string])[]
}

/** As much of what Node makes of a request as is looked at. */
export function incomingOf({
  httpVersion = '1.1',
  url = '/',
  fields = [['Host', 'a']],
}: Head): IncomingMessage {
  const headers: Record<string, string> = {}
  for (const [name, value] of fields) headers[name.toLowerCase()] ??= value
  const rawHeaders = fields.flat()
  const parts = {
    httpVersion,
    url,
    headers,
    rawHeaders,
    method: 'GET',
    complete: false,
  }
  return Object.assign(new EventEmitter(), parts) as unknown as IncomingMessage
}
