import assert from 'node:assert/strict'
import type { Caller, Reply, Request } from '../../src/http/message.ts'

export const caller: Caller = { requestId: 'r1', address: '192.0.2.1', isSecure: false }

/** A request as a handler gets it. */
export function requestOf(headers: Request['headers'], body: Uint8Array | string = '', query = ''): Request {
  return {
    ...caller,
    method: 'POST',
    path: '/',
    query,
    headers,
    signal: new AbortController().signal,
    readBody: async () => Buffer.from(body),
    readPieces: async (_, take) => take(Buffer.from(body)),
    progress: { bytes: 0, waitedMs: 0 },
  }
}

/** The headers that are given; fast-check has `undefined` for one that is not. */
export function headersOf(given: Record<string, string | undefined>): Request['headers'] {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** The whole body of a reply, taken at once. */
export function bodyOf({ body = '' }: Reply): string {
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return Buffer.from(body).toString()
  assert.ok(Symbol.iterator in body)
  return [...body].join('')
}
