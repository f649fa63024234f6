import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'node:test'
import type { IncomingRequest } from '../../src/server/incoming-request.ts'
import { logWhenDone } from '../../src/server/request-order.ts'
import { createClient } from '../support/http-client.ts'
import { createMemoryLog } from '../support/memory-log.ts'
import { start } from '../support/service.ts'

describe('logWhenDone', () => {
  it('logs the duration of a request and whether its answer was sent, once that is known', (t) => {
    t.mock.method(performance, 'now', () => 1012.345)
    const log = createMemoryLog()
    for (const writableFinished of [true, false]) {
      const response = Object.assign(new EventEmitter(), { statusCode: 200, writableFinished })
      const request = {
        response,
        requestId: 'r1',
        method: 'GET',
        path: '/a',
        address: '192.0.2.1',
        beganMs: 1000,
      }
      logWhenDone(request as unknown as IncomingRequest, log)
      assert.equal(log.lines.length, writableFinished ? 0 : 1)
      response.emit('close')
    }
    assert.deepEqual(
      log.lines.map((line) => JSON.parse(line)).map(({ ms, complete }) => [ms, complete]),
      [
        [12.3, true],
        [12.3, false],
      ],
    )
  })
})

describe('the access log', () => {
  it('has a line for each answer, and no secret in it', async (t) => {
    const service = await start(t, { flags: ['--access-log'] })
    const Authorization = await service.bearer()
    const ask = createClient(service.url, { Authorization })
    await ask('GET', '/configurations/none?token=hidden', { headers: { Cookie: 'connbook_session=hidden' } })
    await ask('GET', '/%', { headers: { Authorization: 'Bearer hidden' } })
    await service.stop()
    const lines = service.log.lines.filter((line) => line.includes('"event":"request"'))
    const shown = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    assert.deepEqual(
      shown.map(({ method, path, status, account, address }) => ({ method, path, status, account, address })),
      [
        { method: 'POST', path: '/v1/auth/token', status: 200, account: undefined, address: '127.0.0.1' },
        { method: 'GET', path: '/configurations/none', status: 404, account: 'script', address: '127.0.0.1' },
        { method: 'GET', path: '/%', status: 403, account: undefined, address: '127.0.0.1' },
      ],
    )
    const secrets = ['hidden', 'battery staple lamp', Authorization.slice('Bearer '.length)]
    for (const line of service.log.lines)
      for (const secret of secrets) assert.ok(!line.includes(secret), line)
  })
})
