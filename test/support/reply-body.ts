import assert from 'node:assert/strict'
import type { Reply } from '../../src/http/message.ts'

/** The whole body of a reply, taken at once. */
export function bodyOf({ body = '' }: Reply): string {
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return Buffer.from(body).toString()
  assert.ok(Symbol.iterator in body)
  return [...body].join('')
}
