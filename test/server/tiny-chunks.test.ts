import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BODY_PIECES_MAX } from '../../src/limits.ts'
import { formatRequest, parseAnswers, sendRaw } from '../support/raw-http.ts'
import { start } from '../support/service.ts'

describe('a body in tiny chunks', () => {
  const head = (authorization: string) =>
    formatRequest('POST /configurations/', {
      Authorization: authorization,
      Connection: 'close',
      'Transfer-Encoding': 'chunked',
    })
  const inChunks = (text: string) => text.replace(/./g, '1\r\n$&\r\n')

  it(`is read when there are ${BODY_PIECES_MAX} of them`, async (t) => {
    const { url, bearer } = await start(t)
    const json = '{"name":"tiny","hostname":"h","port":1,"username":"u"}'.padEnd(BODY_PIECES_MAX)
    const received = await sendRaw(url, `${head(await bearer())}${inChunks(json)}0\r\n\r\n`)
    assert.deepEqual(
      parseAnswers(received).map(({ status }) => status),
      [200],
    )
  })

  it('costs its connection when there are more', async (t) => {
    const { url, bearer, call } = await start(t)
    const authorization = await bearer()
    const bytes = `${head(authorization)}${inChunks(' '.repeat(BODY_PIECES_MAX + 1))}`
    const received = await sendRaw(url, bytes).catch(({ code }) => code)
    assert.ok(received === '' || received === 'ECONNRESET', received)
    const { status } = await call('/configurations/', { headers: { Authorization: authorization } })
    assert.equal(status, 200)
  })
})
