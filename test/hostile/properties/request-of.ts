import type { Request } from '../../../src/http/message.ts'

/** A request as a handler gets it. */
export function requestOf(headers: Request['headers'], body: Uint8Array | string = '', query = ''): Request {
  return {
    method: 'POST',
    path: '/',
    query,
    headers,
    remoteAddress: '192.0.2.1',
    readBody: async () => Buffer.from(body),
  }
}

/** The headers that are given; fast-check has `undefined` for one that is not. */
export function headersOf(given: Record<string, string | undefined>): Request['headers'] {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}
