import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { dataFiles } from '../../src/files/data-folder.ts'
import { BODY_BYTES_MAX } from '../../src/limits.ts'
import { getToken, logIn } from '../support/api.ts'
import { type Answer, createClient, type Headers, namesIn } from '../support/http-client.ts'
import { folderWithReaders, readingClient, readingUser } from '../support/readers.ts'
import { client, start } from '../support/service.ts'
import { draft } from '../support/store.ts'

const REALM = 'Bearer realm="connbook"'
const CHALLENGE = `${REALM}, error="insufficient_scope", scope="write"`

function assertInsufficientScope(answer: Answer, what: string) {
  assert.equal(answer.status, 403, what)
  assert.equal(answer.headers['www-authenticate'], CHALLENGE, what)
  assert.equal(answer.headers['content-type'], 'application/problem+json', what)
  assert.equal(answer.headers['cache-control'], 'no-store', what)
  assert.deepEqual(answer.json(), {
    type: 'urn:connbook:problem:insufficient_scope',
    title: 'Forbidden',
    status: 403,
    detail: 'This credential is read-only; to change records, use one with the scope write',
  })
}

/** Every way to change a record; some would be refused for other reasons too. */
const writes: [what: string, method: string, path: string, body?: unknown, headers?: Headers][] = [
  ['an addition', 'POST', '/configurations/', draft('new')],
  ['an addition without the slash', 'POST', '/configurations', draft('new')],
  ['an addition with a query', 'POST', '/configurations?x=1', draft('new')],
  ['an encoded name', 'PATCH', '/configurations/%68ere', { port: 1 }],
  ['a change', 'PATCH', '/configurations/here', { port: 1 }],
  ['a rename', 'PATCH', '/configurations/here', { name: 'new' }],
  ['a change of nothing', 'PATCH', '/configurations/here', {}],
  ['a replacement', 'PUT', '/configurations/here', draft('here', { port: 1 })],
  ['a replacement of nothing', 'PUT', '/configurations/here', draft('here')],
  ['an addition by PUT', 'PUT', '/configurations/new', draft('new')],
  [
    'an addition by PUT that may not replace',
    'PUT',
    '/configurations/here',
    draft('here'),
    { 'If-None-Match': '*' },
  ],
  ['a deletion', 'DELETE', '/configurations/here'],
  ['a change of a missing record', 'PATCH', '/configurations/none', { port: 1 }],
  ['a deletion of a missing record', 'DELETE', '/configurations/none'],
  ['a clash', 'POST', '/configurations/', draft('here')],
  ['a stale change', 'PATCH', '/configurations/here', { port: 1 }, { 'If-Match': '"stale"' }],
  ['a change without a body', 'PATCH', '/configurations/here'],
  ['a body that is too long', 'POST', '/configurations/', 'x'.repeat(BODY_BYTES_MAX + 1)],
  ['a body that is not JSON', 'POST', '/configurations/', '{', { 'Content-Type': 'application/json' }],
  ['a body of another type', 'PATCH', '/configurations/here', 'x', { 'Content-Type': 'image/png' }],
  ['a record that is not valid', 'POST', '/configurations/', { port: 0 }],
  ['a method in a header', 'POST', '/configurations/', draft('new'), { 'X-HTTP-Method-Override': 'GET' }],
]

describe('a read-only caller', async () => {
  const folder = await folderWithReaders({ after })
  const service = await start({ after }, { folder })
  const owner = createClient(service.url, { Cookie: await service.cookie() })
  for (const name of ['here', 'there']) {
    assert.equal((await owner('POST', '/configurations/', { body: draft(name) })).status, 200)
  }
  const journal = () => readFile(join(folder, dataFiles.journal), 'utf8')
  const state = async () => [(await owner('GET', '/configurations/')).text, await journal()]

  const credentials = {
    'the cookie of a read-only user': () => logIn(service.url, readingUser),
    'the token of a read-only client': () => getToken(service.url, readingClient),
    'a token that was asked for the scope read': () => getToken(service.url, { ...client, scope: 'read' }),
  }
  for (const [credential, obtain] of Object.entries(credentials)) {
    describe(`with ${credential}`, async () => {
      const headers: Headers = await obtain()
      const ask = createClient(service.url, headers)

      for (const [what, method, path, body, others] of writes) {
        it(`is refused ${what}: ${method} ${path}`, async () => {
          const before = await state()
          const parts = { ...(body === undefined ? {} : { body }), ...(others ? { headers: others } : {}) }
          assertInsufficientScope(await ask(method, path, parts), what)
          assert.deepEqual(await state(), before)
        })
      }

      it('reads lists and records', async () => {
        for (const path of ['/configurations/', '/configurations', '/configurations/?page=0&per_page=9']) {
          const answer = await ask('GET', path)
          assert.equal(answer.status, 200)
          assert.deepEqual(namesIn(answer), ['here', 'there'])
        }
        const one = await ask('GET', '/configurations/here')
        assert.deepEqual([one.status, namesIn(one)], [200, ['here']])
        assert.equal((await ask('GET', '/configurations/none')).status, 404)
        assert.equal((await ask('GET', '/configurations/?page=0')).status, 400)
      })

      it('gets 304, HEAD and OPTIONS like any caller', async () => {
        for (const path of ['/configurations/', '/configurations/here']) {
          const { etag = '' } = (await ask('GET', path)).headers
          const unchanged = await ask('GET', path, { headers: { 'If-None-Match': etag } })
          assert.deepEqual([unchanged.status, unchanged.headers.etag], [304, etag])
          const head = await ask('HEAD', path)
          assert.deepEqual([head.status, head.text, head.headers.etag], [200, '', etag])
          const options = await ask('OPTIONS', path)
          const { allow } = (await owner('OPTIONS', path)).headers
          assert.deepEqual([options.status, options.text, options.headers.allow], [204, '', allow])
        }
      })

      it('gets 404, 405 and 400 for a path like any caller', async () => {
        for (const [method, path, status] of [
          ['POST', '/nowhere', 404],
          ['DELETE', '/configurations/a/b', 404],
          ['PUT', '/configurations/', 405],
          ['DELETE', '/v1/history/here', 405],
          ['POST', '/configurations/here', 405],
          ['POST', '/healthz', 405],
          ['PATCH', '/%', 400],
        ] as const) {
          const answer = await ask(method, path, { body: draft('new') })
          assert.deepEqual([answer.status, answer.headers['www-authenticate']], [status, undefined], path)
        }
      })

      it('logs out', async () => {
        const passing = createClient(service.url, await obtain())
        assert.equal((await passing('GET', '/configurations/')).status, 200)
        const answer = await passing('POST', '/logout')
        assert.deepEqual([answer.status, answer.text], [200, 'Success'])
        const challenge = 'Cookie' in headers ? REALM : `${REALM}, error="invalid_token"`
        for (const [method, path] of [
          ['GET', '/configurations/'],
          ['DELETE', '/configurations/here'],
        ] as const) {
          const after = await passing(method, path)
          assert.deepEqual([after.status, after.headers['www-authenticate']], [403, challenge])
        }
        assert.equal((await ask('GET', '/configurations/')).status, 200)
      })
    })
  }

  it('gets the cross-site refusal first', async () => {
    const headers = { ...(await logIn(service.url, readingUser)), Origin: 'null' }
    const ask = createClient(service.url, headers)
    for (const [method, path] of [
      ['DELETE', '/configurations/here'],
      ['POST', '/configurations/'],
      ['POST', '/logout'],
    ] as const) {
      const answer = await ask(method, path)
      assert.deepEqual([answer.status, answer.headers['www-authenticate']], [403, REALM])
      assert.equal(answer.json<{ type: string }>().type, 'urn:connbook:problem:cross_site')
    }
  })

  it('is judged by the scope of the token alone if there is a cookie too', async () => {
    const reading = await getToken(service.url, readingClient)
    const writing = { Authorization: await service.bearer() }
    const cookies = [{ Cookie: await service.cookie() }, await logIn(service.url, readingUser)] as const
    const patch = (headers: Headers) =>
      createClient(service.url, headers)('PATCH', '/configurations/here', { body: {} })
    assertInsufficientScope(await patch({ ...cookies[0], ...reading }), 'a token that may only read')
    assert.equal((await patch({ ...cookies[1], ...writing })).status, 200)
  })

  it('does not keep others from writing, by cookie or by token', async () => {
    for (const headers of [{ Cookie: await service.cookie() }, { Authorization: await service.bearer() }]) {
      const ask = createClient(service.url, headers)
      assert.equal((await ask('POST', '/configurations', { body: draft('new') })).status, 200)
      assert.equal((await ask('PATCH', '/configurations/new', { body: { port: 1 } })).status, 200)
      assert.equal((await ask('DELETE', '/configurations/new')).status, 209)
    }
  })
})
