import { hash } from 'node:crypto'
import { isExpected, isUnchanged } from '../http/header-fields.ts'
import { JSON_TYPE, type Reply, type Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { STREAM_PIECE_CHARACTERS } from '../limits.ts'
import { defineResource } from './resource.ts'

/** The description of all calls. */
export const openApi = defineResource({
  handlers: ({ describeCalls }) => openApiHandlers(describeCalls),
  /** Its answers have URLs. */
  dependsOnBasePath: true,
  routes: [
    {
      method: 'GET',
      path: '/openapi.json',
      access: 'read',
      limits: 'same',
      needsNoState: true,
      summary: 'describes all calls, as an OpenAPI document',
      answers: '200',
      operation: {
        id: 'describeCalls',
        tag: 'operation',
        isConditional: true,
        answers: {
          200: {
            description: 'The document.',
            headers: ['ETag'],
            content: { 'application/json': { type: 'object' } },
          },
        },
      },
      handler: 'read',
    },
  ],
})

interface MadeDocument {
  readonly pieces: readonly string[]
  readonly bytes: number
  readonly etag: string
}

/** @param makeDocument Makes the text, at the first request. */
export function openApiHandlers(makeDocument: () => string) {
  let made: MadeDocument | undefined
  return { read }

  function read(request: Request): Reply {
    made ??= prepare(makeDocument())
    const { pieces, bytes, etag } = made
    if (!isExpected(request.headers['if-match'], etag))
      throw new Problem('stale_record', 'This is not what If-Match names; read it without that')
    const headers = { 'Cache-Control': 'no-cache, private', ETag: etag }
    if (isUnchanged(request.headers['if-none-match'], etag)) return { status: 304, headers }
    return {
      status: 200,
      headers: { 'Content-Type': JSON_TYPE, 'Content-Length': String(bytes), ...headers },
      body: pieces,
    }
  }
}

function prepare(text: string): MadeDocument {
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += STREAM_PIECE_CHARACTERS)
    pieces.push(text.slice(at, at + STREAM_PIECE_CHARACTERS))
  const etag = `"${hash('sha256', text, 'base64url').slice(0, 22)}"`
  return { pieces, bytes: Buffer.byteLength(text), etag }
}
