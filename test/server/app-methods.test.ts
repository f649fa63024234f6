import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createClient, ownHeaders } from '../support/http-client.ts'
import { formatRequest, parseAnswers, sendRaw } from '../support/raw-http.ts'
import { start } from '../support/service.ts'

const resources: Record<string, string> = {
  '/configurations/': 'GET, HEAD, POST, PATCH, DELETE, OPTIONS',
  '/configurations': 'GET, HEAD, POST, PATCH, DELETE, OPTIONS',
  '/configurations/a': 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS',
  '/login': 'POST, OPTIONS',
  '/logout': 'POST, OPTIONS',
  '/v1/auth/token': 'POST, OPTIONS',
  '/healthz': 'GET, HEAD, OPTIONS',
  '/readyz': 'GET, HEAD, OPTIONS',
}
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY']

describe('methods, for a caller with a credential', async () => {
  const service = await start({ after })
  const ask = createClient(service.url, { Authorization: await service.bearer() })

  for (const [path, allow] of Object.entries(resources)) {
    it(`of ${path} are ${allow}`, async () => {
      const options = await ask('OPTIONS', path)
      assert.deepEqual([options.status, options.headers.allow, options.text], [204, allow, ''])
      for (const method of methods.filter((name) => !allow.split(', ').includes(name))) {
        const answer = await ask(method, path)
        assert.deepEqual([answer.status, answer.headers.allow], [405, allow], method)
      }
    })
  }

  it('of the whole server are asked with *, and answered 204', async () => {
    const bearer = await service.bearer()
    const statusOf = async (line: string, headers: Record<string, string>) => {
      const received = await sendRaw(service.url, formatRequest(line, { Connection: 'close', ...headers }))
      return parseAnswers(received)[0]?.status
    }
    assert.equal(await statusOf('OPTIONS *', { Authorization: bearer }), 204)
    assert.equal(await statusOf('OPTIONS *', {}), 403)
    assert.equal(await statusOf('GET *', { Authorization: bearer }), 400)
  })

  it('do not matter on unknown paths', async () => {
    for (const path of [
      '/',
      '/login/',
      '/configurations/a/b',
      '/v1/auth',
      '/v1/auth/token/',
      '/favicon.ico',
    ]) {
      for (const method of [...methods, 'OPTIONS']) {
        assert.equal((await ask(method, path)).status, 404, `${method} ${path}`)
      }
    }
  })

  it('give HEAD the headers of GET and no body', async () => {
    for (const path of ['/configurations/', '/configurations/none', '/healthz', '/nowhere', '/%']) {
      const got = await ask('GET', path)
      const head = await ask('HEAD', path)
      assert.equal(head.text, '')
      assert.deepEqual(ownHeaders(head), ownHeaders(got))
    }
  })

  it('never redirect', async () => {
    for (const path of ['/configurations', '/login', '/healthz']) {
      for (const method of methods) {
        const { status, headers } = await ask(method, path)
        assert.ok(status < 300 || status >= 400)
        assert.equal(headers.location, undefined)
      }
    }
  })
})

describe('a base path', async () => {
  const service = await start({ after }, { flags: ['--base-path', '/like/this/'] })
  const root = service.url.slice(0, -'/like/this'.length)
  const headers = { Authorization: await service.bearer() }
  const ask = createClient(service.url, headers)
  const body = { name: 'a b', hostname: 'h', port: 1, username: 'u' }

  it('is part of the paths in answers', async () => {
    assert.equal(
      (await ask('POST', '/configurations/', { body })).headers.location,
      '/like/this/configurations/a%20b',
    )
    assert.equal((await ask('GET', '/configurations/a%20b')).status, 200)
    assert.equal((await ask('GET', '/configurations')).status, 200)
    const page = await ask('GET', '/configurations/?sort=name&page=0&per_page=1')
    const target = '/like/this/configurations/?sort=name&page=0&per_page=1'
    assert.equal(page.headers.link, `<${target}>; rel="first", <${target}>; rel="last"`)
  })

  it('is the Path of the cookie, set and cleared', async () => {
    const { username, password } = { username: 'admin', password: 'correct horse' }
    const login = await ask('POST', '/login', { body: { username, password } })
    const [cookie = ''] = login.headers['set-cookie'] ?? []
    assert.match(
      cookie,
      /^connbook_session_[0-9a-f]{8}=[\w.-]+; HttpOnly; SameSite=Strict; Path=\/like\/this; Max-Age=43200$/,
    )
    const logout = await createClient(service.url)('POST', '/logout', {
      headers: { Cookie: cookie.split(';')[0] ?? '' },
    })
    assert.match(
      logout.headers['set-cookie']?.[0] ?? '',
      /^connbook_session_[0-9a-f]{8}=; .*Path=\/like\/this; Max-Age=0$/,
    )
  })

  it('is required in every path', async () => {
    const outside = [
      '/',
      '/configurations/',
      '/login',
      '/healthz',
      '/like/healthz',
      '/like/this',
      '/like/thishealthz',
      '/like/this//healthz',
    ]
    for (const path of outside) {
      assert.equal((await createClient(root)('GET', path)).status, 403, path)
      assert.equal((await createClient(root, headers)('GET', path)).status, 404, path)
    }
    assert.equal((await createClient(service.url)('GET', '/healthz')).status, 200)
  })
})
