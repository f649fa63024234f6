import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { BODY_BYTES_MAX } from '../../src/limits.ts'
import { type Answer, createClient, type Headers, recordsIn } from '../support/http-client.ts'
import { admin, start } from '../support/service.ts'

const path = '/configurations/target'
const patch = '{"port":2}'
const form = 'application/x-www-form-urlencoded'
const typed = (type: string): Headers => ({ 'Content-Type': type })

describe('a request body', async () => {
  const service = await start({ after })
  const ask = createClient(service.url, { Authorization: await service.bearer() })
  await ask('POST', '/configurations/', { body: { name: 'target', hostname: 'h', port: 1, username: 'u' } })

  async function send(body: unknown, headers: Headers = {}): Promise<Answer> {
    const answer = await ask('PATCH', path, { headers, body })
    const isTaken = answer.status === 200
    assert.equal(recordsIn(await ask('GET', path))[0]?.port, isTaken ? 2 : 1)
    if (isTaken) await ask('PATCH', path, { body: { port: 1 } })
    else assert.equal(answer.headers['content-type'], 'application/problem+json')
    return answer
  }

  const taken: Headers[] = [
    {},
    typed(''),
    ...[
      'application/json',
      'APPLICATION/JSON',
      'application/json;charset=utf-8',
      'application/json; charset=UTF-8',
      'application/json ; charset="utf-8"',
      'application/json; charset=utf8',
      'application/json; profile=x',
      'application/merge-patch+json',
      'application/vnd.example.v1+json; charset=utf-8',
      form,
      `${form}; charset=utf-8`,
      'text/plain',
      'text/plain;charset=UTF-8',
    ].map(typed),
    { 'Content-Encoding': 'identity' },
  ]
  for (const headers of taken) {
    it(`is read as JSON with ${JSON.stringify(headers)}`, async () => {
      assert.equal((await send(patch, headers)).status, 200)
    })
  }

  const refused: [headers: Headers, body: string][] = [
    ...[
      'text/html',
      'text/json',
      'text/xml',
      'application/xml',
      'application/octet-stream',
      'application/jsonp',
      'application/json-patch',
      '+json',
      'multipart/form-data; boundary=x',
      'nonsense',
      ';',
      'application/json; charset=utf-16',
      'application/json; charset=iso-8859-1',
      'text/plain; charset=us-ascii',
      `${form}; charset=latin1`,
    ].map((type): [Headers, string] => [typed(type), patch]),
    [{}, 'port=2'],
    [typed(form), 'port=2'],
    [typed('text/plain'), 'port: 2'],
    [{ 'Content-Encoding': 'gzip' }, patch],
    [{ 'Content-Encoding': 'br', ...typed('application/json') }, patch],
  ]
  for (const [headers, body] of refused) {
    it(`is 415 with ${JSON.stringify(headers)}: ${body}`, async () => {
      assert.equal((await send(body, headers)).status, 415)
    })
  }

  it('of a wrong type is refused with advice', async () => {
    for (const headers of [typed('text/xml'), typed(form)]) {
      assert.match((await send('<port>2</port>', headers)).json<{ detail: string }>().detail, /curl --json/)
    }
  })

  const bad: Record<string, string | Buffer> = {
    nothing: '',
    'a space': ' ',
    'a truncated object': '{"port":',
    'two values': `${patch}${patch}`,
    'a comment': '{"port":2} // so',
    'a trailing comma': '{"port":2,}',
    'single quotes': "{'port':2}",
    'an array': `[${patch}]`,
    null: 'null',
    'a string': '"port"',
    'a number': '2',
    NaN: '{"port":NaN}',
    'a number with a leading zero': '{"port":02}',
    'a raw control character': '{"username":"a\tb"}',
    'bytes that are not UTF-8': Buffer.from('{"username":"\xff"}', 'latin1'),
    'a cut character': Buffer.from('{"username":"é"}').subarray(0, 14),
    'an encoded surrogate': Buffer.from('{"username":"\xed\xa0\x80"}', 'latin1'),
    'an overlong slash': Buffer.from('{"username":"\xc0\xaf"}', 'latin1'),
    'UTF-16': Buffer.from(patch, 'utf16le'),
    'a deep array': '['.repeat(30_000) + ']'.repeat(30_000),
    'a deep object': `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
  }
  for (const [what, body] of Object.entries(bad)) {
    it(`is 400 when it is ${what}`, async () => {
      assert.equal((await send(body, typed('application/json'))).status, 400)
    })
  }

  it('that is empty is 400 under any type', async () => {
    for (const headers of [{}, typed(form), typed('text/plain')])
      assert.equal((await send('', headers)).status, 400)
  })

  it('takes the last of duplicate members', async () => {
    assert.equal((await send('{"port":7,"port":null,"port":2}')).status, 200)
    assert.equal((await send('{"port":2,"port":0}')).status, 400)
  })

  it('may begin with a byte order mark', async () => {
    assert.equal((await send(`\ufeff${patch}`)).status, 200)
  })

  it('accepts any spelling of an integer', async () => {
    for (const number of ['2', '2.0', '2e0', '20E-1', '0.2e1'])
      assert.equal((await send(`{"port":${number}}`)).status, 200)
    for (const number of ['2.5', '-2', '-0', '0', '65536', '1e400', '"2"', '[2]', 'true', '{}']) {
      assert.equal((await send(`{"port":${number}}`)).status, 400, number)
    }
  })

  it('is accepted at its size limit, and refused beyond', async () => {
    const fill = (bytes: number) => patch + ' '.repeat(bytes - patch.length)
    for (const framing of [{}, { 'Transfer-Encoding': 'chunked' }]) {
      assert.equal((await send(fill(BODY_BYTES_MAX), framing)).status, 200)
      assert.equal((await send(fill(BODY_BYTES_MAX + 1), framing)).status, 413)
    }
  })

  it('of a login obeys the same rules', async () => {
    const logIn = async (body: unknown, headers: Headers = {}) =>
      (await ask('POST', '/login', { headers, body })).status
    const text = JSON.stringify(admin)
    assert.equal(await logIn(text, typed(form)), 200)
    assert.equal(await logIn(`${text}${' '.repeat(BODY_BYTES_MAX)}`), 413)
    assert.equal(await logIn(new URLSearchParams(admin).toString(), typed(form)), 415)
    assert.equal(await logIn([admin]), 400)
    assert.equal(await logIn(''), 400)
  })
})
