import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readResponse } from '../../src/client/call.ts'
import { callInProcess } from '../../src/client/in-process.ts'
import type { Call } from '../../src/client/messages.ts'
import { type Reply, type Request, textReply } from '../../src/http/message.ts'
import { BODY_BYTES_MAX } from '../../src/limits.ts'

type App = Parameters<typeof callInProcess>[0]

/** Calls an application that answers with what `look` gives. */
async function seen(call: Partial<Call>, look: (request: Request) => unknown) {
  const app: App = async (request) => textReply(200, JSON.stringify(await look(request)))
  const answer = await callInProcess(app, { method: 'GET', path: '/', ...call })
  return JSON.parse((await readResponse(answer)).text)
}

const replyWith = (body: Reply['body']): App => {
  return () => ({ status: 200, headers: {}, ...(body === undefined ? {} : { body }) })
}

const call = { method: 'GET', path: '/' } as const

describe('a call in this process', () => {
  it('is a request of the owner, with a path and a query as they were sent', async () => {
    const look = ({ method, path, query, isOwner }: Request) => [method, path, query, isOwner]
    assert.deepEqual(await seen({ method: 'PUT', path: '/a%20b?q=1?2' }, look), [
      'PUT',
      '/a%20b',
      'q=1?2',
      true,
    ])
    assert.deepEqual(await seen({ path: '/a' }, look), ['GET', '/a', '', true])
  })

  it('has headers by lower-case names, in the request and in the answer', async () => {
    const headers = { 'If-Match': '"tag"' }
    assert.deepEqual(await seen({ headers }, (request) => request.headers), {
      host: 'localhost',
      'if-match': '"tag"',
    })
    const app: App = () => ({ status: 409, headers: { ETag: '"tag"' } })
    const { status, headers: answered } = await callInProcess(app, call)
    assert.deepEqual([status, answered], [409, { etag: '"tag"' }])
  })

  it('hands over its body whole or in pieces', async () => {
    const body = [Buffer.from('one'), Buffer.from('two')]
    assert.equal(await seen({ body }, async (request) => (await request.readBody()).toString()), 'onetwo')
    const pieces = await seen({ body }, async (request) => {
      const taken: string[] = []
      await request.readPieces(1, (piece) => taken.push(piece.toString()))
      return [taken, request.progress.bytes]
    })
    assert.deepEqual(pieces, [['one', 'two'], 6])
    assert.equal(await seen({}, async (request) => (await request.readBody()).length), 0)
  })

  it('refuses a body that a server would not hold', async () => {
    const body = [Buffer.alloc(BODY_BYTES_MAX), Buffer.alloc(1)]
    const code = await seen({ body }, (request) => request.readBody().catch(({ code }) => code))
    assert.equal(code, 'body_too_large')
  })

  it('gives the bytes of every kind of answer, without empty pieces', async () => {
    async function* later() {
      yield 'late'
      yield ''
    }
    const bodies: (readonly [Reply['body'], string[]])[] = [
      [undefined, []],
      ['text', ['text']],
      [Buffer.from('bytes'), ['bytes']],
      [
        ['a', '', 'b'],
        ['a', 'b'],
      ],
      [later(), ['late']],
    ]
    for (const [body, expected] of bodies) {
      const pieces: string[] = []
      for await (const piece of (await callInProcess(replyWith(body), call)).body)
        pieces.push(piece.toString())
      assert.deepEqual(pieces, expected)
    }
  })

  it('has no answer without an end', async () => {
    const { body } = await callInProcess(replyWith({ begin: () => () => {} } as never), call)
    await assert.rejects(body[Symbol.asyncIterator]().next(), /Only a server sends what has no end/)
  })

  it('ends with the signal of its caller', async () => {
    const { signal } = new AbortController()
    const app: App = (request) => textReply(200, String(request.signal === signal))
    assert.equal((await readResponse(await callInProcess(app, call, signal))).text, 'true')
  })
})
