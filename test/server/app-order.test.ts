import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { BODY_BYTES_MAX } from '../../src/limits.ts'
import { REFUSAL_PAUSE_MS } from '../../src/server/request-order.ts'
import { logIn } from '../support/api.ts'
import { createFailingFiles, systemError } from '../support/failing-files.ts'
import { createClient, type Headers } from '../support/http-client.ts'
import { parseAnswers, sendRaw } from '../support/raw-http.ts'
import { folderWithReaders, readingUser } from '../support/readers.ts'
import { start } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'

const record = (name: string) => ({ name, hostname: 'localhost', port: 22, username: 'root' })

/** Each row has all faults of the rows below it, so the check that comes first decides. */
describe('a request with several faults', async () => {
  const files = createFailingFiles()
  const service = await start({ after }, { files, folder: await folderWithReaders({ after }) })
  const cookie = await service.cookie()
  const ask = createClient(service.url, { Cookie: cookie })
  for (const name of ['here', 'taken']) await ask('POST', '/configurations/', { body: record(name) })
  files.before = (operation, path) => {
    if (operation === 'write' && path.endsWith('journal.jsonl')) throw systemError('ENOSPC')
  }

  const tooLong = '{'.repeat(BODY_BYTES_MAX + 1)
  const clash = JSON.stringify({ name: 'taken' })
  const whole = JSON.stringify({ hostname: 'other', port: 2, username: 'u' })
  const json = 'application/json'
  const good: Headers = { Cookie: cookie }
  // Read-only, so every change of records is refused, whatever else is wrong with it.
  const reading: Headers = await logIn(service.url, readingUser)
  const elsewhere: Headers = { ...good, Origin: 'null' }
  const image = { 'Content-Type': 'image/png' }
  const stale = { 'If-Match': '"stale"' }
  const rows: [what: string, status: number, method: string, path: string, headers: Headers, body: string][] =
    [
      ['HTTP itself', 400, 'PATCH', '/%', { Host: 'a b', 'Content-Type': 'image/png' }, tooLong],
      [
        'the credential',
        403,
        'PATCH',
        '/%',
        { Cookie: 'connbook_session=x', 'Content-Type': 'image/png' },
        tooLong,
      ],
      ['another site', 403, 'PATCH', '/%', { ...elsewhere, 'Content-Type': 'image/png' }, tooLong],
      ['the path as such', 400, 'PATCH', '/%', { ...good, 'Content-Type': 'image/png' }, tooLong],
      ['the path', 404, 'PATCH', '/nowhere', { ...good, 'Content-Type': 'image/png' }, tooLong],
      ['the method', 405, 'POST', '/configurations/none', { ...good, 'Content-Type': 'image/png' }, tooLong],
      ['the path, for a read-only caller', 404, 'PATCH', '/nowhere', { ...reading, ...image }, tooLong],
      [
        'the method, for a read-only caller',
        405,
        'POST',
        '/configurations/none',
        { ...reading, ...image },
        tooLong,
      ],
      ['the scope', 403, 'PATCH', '/configurations/none', { ...reading, ...image }, tooLong],
      ['the scope', 403, 'PATCH', '/configurations/here', { ...reading, ...stale }, clash],
      ['the scope', 403, 'POST', '/configurations/', reading, JSON.stringify(record('free'))],
      ['the size', 413, 'PATCH', '/configurations/none', { ...good, 'Content-Type': 'image/png' }, tooLong],
      ['the type', 415, 'PATCH', '/configurations/none', { ...good, 'Content-Type': 'image/png' }, '{'],
      ['the encoding', 415, 'PATCH', '/configurations/none', { ...good, 'Content-Encoding': 'gzip' }, '{'],
      [
        'the content',
        400,
        'PATCH',
        '/configurations/none',
        { ...good, ...stale, 'Content-Type': json },
        '{"port":0}',
      ],
      ['the scope', 403, 'PUT', '/configurations/none', { ...reading, ...image }, tooLong],
      ['the size', 413, 'PUT', '/configurations/none', { ...good, ...stale, ...image }, tooLong],
      ['the type', 415, 'PUT', '/configurations/none', { ...good, ...stale, ...image }, '{'],
      ['the content', 400, 'PUT', '/configurations/none', { ...good, ...stale }, clash],
      ['If-Match', 412, 'PUT', '/configurations/none', { ...good, ...stale }, whole],
      ['If-Match', 412, 'PUT', '/configurations/here', { ...good, ...stale }, whole],
      ['the disk', 507, 'PUT', '/configurations/none', good, whole],
      ['the disk', 507, 'PUT', '/configurations/here', good, whole],
      ['existence', 404, 'PATCH', '/configurations/none', { ...good, ...stale }, clash],
      ['existence', 404, 'DELETE', '/configurations/none', { ...good, ...stale }, ''],
      ['If-Match', 412, 'PATCH', '/configurations/here', { ...good, ...stale }, clash],
      ['If-Match', 412, 'DELETE', '/configurations/here', { ...good, ...stale }, ''],
      ['the clash', 409, 'PATCH', '/configurations/here', good, clash],
      ['the clash', 409, 'POST', '/configurations/', good, JSON.stringify(record('taken'))],
      ['the disk', 507, 'PATCH', '/configurations/here', good, '{"name":"free"}'],
      ['the disk', 507, 'POST', '/configurations/', good, JSON.stringify(record('free'))],
      ['the disk', 507, 'DELETE', '/configurations/here', good, ''],
    ]
  for (const [what, status, method, path, headers, body] of rows) {
    it(`is judged first by ${what}: ${status} to ${method} ${path}`, async () => {
      const all = { Host: 'a', 'Content-Length': String(body.length), ...headers }
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
      const bytes = `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
      const [answer] = parseAnswers(await sendRaw(service.url, bytes, { halfClose: true }))
      assert.equal(answer?.status, status)
      const type = status === 409 ? 'application/json; charset=utf-8' : 'application/problem+json'
      assert.match(answer?.head ?? '', new RegExp(`^content-type: ${type.replace('+', '\\+')}$`, 'im'))
    })
  }

  it('has changed nothing', async () => {
    files.before = () => {}
    const { text } = await ask('GET', '/configurations/')
    const records = [
      { id: 1, ...record('here') },
      { id: 2, ...record('taken') },
    ]
    assert.equal(text, JSON.stringify({ configurations: records }))
  })

  it('gets 503 with Retry-After, as /readyz does, once the disk is not trusted', async (t) => {
    skipPauses(t, REFUSAL_PAUSE_MS)
    files.before = (operation, path) => {
      if (operation !== 'read' && operation !== 'readFile' && !path.includes('revocations'))
        throw systemError('EIO')
    }
    for (const name of ['a', 'b']) {
      const answer = await ask('POST', '/configurations/', { body: record(name) })
      assert.equal(answer.status, 503)
      assert.match(answer.headers['retry-after'] ?? '', /^[1-9]\d*$/)
      assert.equal(answer.headers['content-type'], 'application/problem+json')
    }
    const ready = await ask('GET', '/readyz')
    assert.equal(ready.status, 503)
    assert.match(ready.headers['retry-after'] ?? '', /^[1-9]\d*$/)
    assert.equal((await ask('GET', '/healthz')).status, 200)
    assert.equal((await ask('GET', '/configurations/here')).status, 200)
  })
})
