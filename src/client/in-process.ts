import type { Reply, Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { BODY_BYTES_MAX } from '../limits.ts'
import type { Call, OpenResponse } from './messages.ts'

/** Turns a request into a reply; never throws, never rejects. */
type Application = (request: Request) => Reply | Promise<Reply>

/**
 * Calls an application of this process as the owner's socket would. Nothing is bounded that a server bounds for the sake
 * of others: a body in pieces may have any length.
 *
 * @param signal Ends the call.
 */
export async function callInProcess(
  app: Application,
  call: Call,
  signal = new AbortController().signal,
): Promise<OpenResponse> {
  const { status, headers, body } = await app(requestOf(call, signal))
  const lowered = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  return { status, headers: Object.fromEntries(lowered), body: bytesOf(body) }
}

function requestOf({ method, path, headers = {}, body }: Call, signal: AbortSignal): Request {
  const mark = path.indexOf('?')
  const lowered = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  const bytes = body?.reduce((sum, piece) => sum + piece.length, 0) ?? 0
  return {
    method,
    path: mark === -1 ? path : path.slice(0, mark),
    query: mark === -1 ? '' : path.slice(mark + 1),
    headers: { host: 'localhost', ...Object.fromEntries(lowered) },
    requestId: 'in-process',
    address: '',
    isSecure: false,
    isOwner: true,
    signal,
    progress: { bytes, waitedMs: 0 },
    async readBody() {
      if (bytes > BODY_BYTES_MAX)
        throw new Problem('body_too_large', `The body is longer than ${BODY_BYTES_MAX} bytes`)
      return Buffer.concat(body ?? [])
    },
    async readPieces(_, take) {
      for (const piece of body ?? []) take(Buffer.from(piece))
    },
  }
}

async function* bytesOf(body: Reply['body']): AsyncGenerator<Buffer> {
  if (body === undefined) return
  if (typeof body === 'string' || body instanceof Uint8Array) return yield Buffer.from(body)
  if ('begin' in body) throw new Error('Only a server sends what has no end')
  for await (const piece of body) if (piece !== '') yield Buffer.from(piece)
}
