import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import type { Problem } from '../../src/http/problem.ts'
import { HEADER_BYTES_MAX } from '../../src/limits.ts'
import type { IncomingRequest } from '../../src/server/incoming-request.ts'
import { createRawRefusals } from '../../src/server/raw-refusal.ts'
import { parseAnswers } from '../support/raw-http.ts'
import { oneConnection } from './one-connection.ts'

/** One connection of a listener, and what is written to it. */
function setUp(t: TestContext, address?: string) {
  const { socket, connection, parts, callers } = oneConnection(t, address)
  t.mock.method(socket, 'end', () => socket)
  const written: string[] = []
  t.mock.method(socket, 'write', (text: string) => written.push(text) > 0)
  Object.defineProperty(socket, 'writable', { get: () => !socket.destroyed })
  const refusals = createRawRefusals(parts)
  const { metrics } = parts
  const fail = (code: string, rawPacket = '') => {
    const error = Object.assign(new Error(code), { code, rawPacket: Buffer.from(rawPacket) })
    refusals.refuseUnreadable(error, socket)
  }
  return {
    ...refusals,
    socket,
    connection,
    callers,
    metrics,
    fail,
    answers: () => parseAnswers(written.join('')),
  }
}

/** The last request of a connection; its answer is still being sent. */
function lastRequest(isComplete: boolean) {
  const response = Object.assign(new EventEmitter(), { closed: false })
  const broken: Problem[] = []
  const request = { response, isComplete, breakOff: (problem: Problem) => void broken.push(problem) }
  return { request: request as unknown as IncomingRequest, response, broken }
}

describe('input that the parser refuses', () => {
  const longTarget = `GET /${'x'.repeat(HEADER_BYTES_MAX)}`
  const rows: [code: string, packet: string, status: number, problem: string][] = [
    ['HPE_HEADER_OVERFLOW', longTarget, 414, 'target_too_long'],
    ['HPE_HEADER_OVERFLOW', `GET / HTTP/1.1\r\nA: ${'x'.repeat(HEADER_BYTES_MAX)}`, 431, 'header_too_large'],
    ['HPE_HEADER_OVERFLOW', '', 431, 'header_too_large'],
    ['ERR_HTTP_REQUEST_TIMEOUT', '', 408, 'request_timeout'],
    ['HPE_CHUNK_EXTENSIONS_OVERFLOW', '', 413, 'body_too_large'],
    ['HPE_INVALID_METHOD', '', 400, 'malformed_request'],
  ]
  for (const [code, packet, status, problem] of rows) {
    it(`is answered ${status} ${problem} for ${code} after ${JSON.stringify(packet.slice(0, 20))}`, (t) => {
      const { fail, answers, metrics } = setUp(t)
      fail(code, packet)
      const [answer, ...more] = answers()
      assert.deepEqual([answer?.status, more.length], [status, 0])
      assert.match(answer?.head ?? '', /\r\nX-Request-Id: r1\r\nX-Fixed: yes\r\n/)
      assert.match(answer?.head ?? '', /\r\nConnection: close$/)
      assert.equal(JSON.parse(answer?.body ?? '').type, `urn:connbook:problem:${problem}`)
      assert.equal(metrics.malformed.value, 1)
    })
  }

  it('is answered once, however much of it arrives', (t) => {
    const { fail, answers, metrics } = setUp(t)
    for (let i = 0; i < 3; i++) fail('HPE_INVALID_METHOD')
    assert.deepEqual([answers().length, metrics.malformed.value], [1, 1])
  })

  it('is dropped, as far as more of it comes, in the turn of the network that it comes from', (t) => {
    const { fail, socket, callers } = setUp(t, '2001:DB8::1')
    fail('HPE_INVALID_METHOD')
    socket.emit('data', Buffer.from('more'))
    assert.deepEqual(callers, ['20010db800000000/64'])
  })

  it('is not answered when the client has reset the connection', (t) => {
    const { fail, answers, socket } = setUp(t)
    fail('ECONNRESET')
    assert.deepEqual([answers().length, socket.destroyed], [0, true])
  })

  it('is answered after the answer that is being sent', (t) => {
    const { fail, answers, connection } = setUp(t)
    const { request, response, broken } = lastRequest(true)
    connection.last = request
    fail('HPE_INVALID_METHOD')
    assert.equal(answers().length, 0)
    response.emit('close')
    assert.deepEqual([answers().length, broken.length], [1, 0])
  })

  it('breaks off the body that it belongs to, and has no answer of its own', (t) => {
    const { fail, answers, connection } = setUp(t)
    const { request, broken } = lastRequest(false)
    connection.last = request
    fail('HPE_CHUNK_EXTENSIONS_OVERFLOW')
    assert.deepEqual(
      broken.map(({ status }) => status),
      [413],
    )
    assert.equal(answers().length, 0)
  })

  it('closes the connection if the request that it belongs to has been answered', (t) => {
    const { fail, answers, connection, socket } = setUp(t)
    const { request, response, broken } = lastRequest(false)
    response.closed = true
    connection.last = request
    fail('HPE_INVALID_CHUNK_SIZE')
    assert.deepEqual([socket.destroyed, answers().length, broken.length], [true, 0, 0])
  })
})

describe('CONNECT', () => {
  it('is answered 400, and counted as malformed', (t) => {
    const { refuseTunnel, socket, answers, metrics } = setUp(t)
    refuseTunnel(socket)
    assert.deepEqual([answers()[0]?.status, metrics.malformed.value], [400, 1])
  })

  it('is not answered when the client goes before its turn', (t) => {
    const { refuseTunnel, socket, answers, connection } = setUp(t)
    const { request, response } = lastRequest(true)
    connection.last = request
    refuseTunnel(socket)
    socket.destroy()
    response.emit('close')
    assert.equal(answers().length, 0)
  })
})
