import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, describe, it } from 'node:test'
import { routes } from '../../src/resources/routes.ts'
import { getToken, logIn } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { createClient, type Headers, recordsIn } from '../support/http-client.ts'
import { formatRequest, parseAnswers, sendRaw } from '../support/raw-http.ts'
import { folderWithReaders, readingClient, readingUser } from '../support/readers.ts'
import { start } from '../support/service.ts'

const REALM = 'Bearer realm="connbook"'
const INVALID = `${REALM}, error="invalid_token"`

describe('who may do what', async () => {
  const service = await start({ after }, { folder: await folderWithReaders({ after }) })
  const { host } = new URL(service.url)
  const bearer = await service.bearer()
  const cookie = await service.cookie()
  const readingCookie = await logIn(service.url, readingUser)
  const readingBearer = await getToken(service.url, readingClient)
  const ask = createClient(service.url)

  describe('a stranger', () => {
    /** With a segment for the parameter, and also without a final slash. */
    const pathsOf = (pattern: string) => {
      const path = pattern.replace(/:\w+/, 'a')
      return path.endsWith('/') ? [path, path.slice(0, -1)] : [path]
    }
    const listed = routes.flatMap(({ path }) => pathsOf(path))
    const nothing = ['/', '/nowhere', '/a/b/c', '/%ff', '/%', '/login/', '/HEALTHZ']
    const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']
    for (const path of new Set([...listed, ...nothing])) {
      const open = routes
        .filter(({ path: pattern, access }) => access === 'public' && pathsOf(pattern).includes(path))
        .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
      it(`gets 403 at ${path} whatever the method${open.length > 0 ? `, except ${open.join()}` : ''}`, async () => {
        for (const method of open) assert.notEqual((await ask(method, path)).status, 403, method)
        for (const method of methods.filter((each) => !open.includes(each))) {
          const answer = await ask(method, path)
          assert.equal(answer.status, 403, method)
          assert.equal(answer.headers['www-authenticate'], REALM)
          assert.equal(answer.headers['content-type'], 'application/problem+json')
          assert.equal(answer.headers.allow, undefined)
        }
      })
    }

    for (const path of ['/healthz', '/readyz']) {
      it(`may read ${path}`, async () => {
        const got = await ask('GET', path)
        const head = await ask('HEAD', path)
        assert.deepEqual([got.status, head.status, head.text], [200, 200, ''])
        assert.equal(head.headers['content-length'], String(got.text.length))
      })
    }
  })

  describe('credentials', () => {
    const token = bearer.replace('Bearer ', '')
    const session = cookie.slice(cookie.indexOf('=') + 1)
    const rows: [name: string, headers: Headers, status: number, challenge?: string][] = [
      ['the session cookie', { Cookie: cookie }, 200],
      ['the session cookie among others', { Cookie: `a=b; ${cookie}; connbook=c` }, 200],
      ['a bearer', { Authorization: bearer }, 200],
      ['a bearer, scheme in small letters', { Authorization: `bearer ${token}` }, 200],
      ['a bearer, scheme in capitals', { Authorization: `BEARER ${token}` }, 200],
      ['a bearer beside a bad cookie', { Authorization: bearer, Cookie: 'connbook_session=x' }, 200],
      ['the session cookie of a read-only user', readingCookie, 200],
      ['a bearer of a read-only client', readingBearer, 200],
      [
        'a bearer of a read-only client beside a bad cookie',
        { ...readingBearer, Cookie: 'connbook_session=x' },
        200,
      ],
      [
        'a bad bearer beside the cookie of a read-only user',
        { ...readingCookie, Authorization: 'Bearer x' },
        403,
        INVALID,
      ],
      ['a bad cookie', { Cookie: 'connbook_session=x' }, 403, REALM],
      ['an empty cookie', { Cookie: 'connbook_session=' }, 403, REALM],
      ['the cookie of TLS without TLS', { Cookie: `__Host-${cookie}` }, 403, REALM],
      ['a bad bearer', { Authorization: 'Bearer x.y.z' }, 403, INVALID],
      ['a bad bearer beside a good cookie', { Authorization: 'Bearer x.y.z', Cookie: cookie }, 403, INVALID],
      ['another scheme beside a good cookie', { Authorization: 'Basic eDp5', Cookie: cookie }, 403, REALM],
      ['a session as bearer', { Authorization: `Bearer ${session}` }, 403, INVALID],
      ['an access token as cookie', { Cookie: `connbook_session=${token}` }, 403, REALM],
      ['Basic', { Authorization: 'Basic eDp5' }, 403, REALM],
      ['a bare token', { Authorization: token }, 403, REALM],
    ]
    for (const [name, headers, status, challenge] of rows) {
      it(`${name}: ${status}`, async () => {
        const answer = await ask('GET', '/configurations/', { headers })
        assert.equal(answer.status, status)
        assert.equal(answer.headers['www-authenticate'], challenge)
      })
    }

    it('are ignored in the query', async () => {
      assert.equal((await ask('GET', `/configurations/?access_token=${token}`)).status, 403)
    })
  })

  describe('a write by cookie', () => {
    const port = host.split(':')[1]
    const rows: [headers: Headers, isAllowed: boolean][] = [
      [{}, true],
      [{ 'Sec-Fetch-Site': 'same-origin' }, true],
      [{ 'Sec-Fetch-Site': 'none' }, true],
      [{ 'Sec-Fetch-Site': 'same-site' }, false],
      [{ 'Sec-Fetch-Site': 'cross-site' }, false],
      [{ 'Sec-Fetch-Site': 'nonsense' }, false],
      [{ Origin: `http://${host}` }, true],
      [{ Origin: `https://${host}` }, true],
      [{ Origin: 'null' }, false],
      [{ Origin: '' }, false],
      [{ Origin: host }, false],
      [{ Origin: 'http://127.0.0.1' }, false],
      [{ Origin: 'http://127.0.0.1:1' }, false],
      [{ Origin: `http://other:${port}` }, false],
      [{ Origin: `http://127.0.0.1.evil:${port}` }, false],
      [{ Origin: 'http://book', Host: 'book' }, true],
      [{ Origin: 'http://book', Host: 'BOOK' }, true],
      [{ Origin: 'http://book', Host: 'book:80' }, true],
      [{ Origin: 'https://book', Host: 'book:443' }, true],
      [{ Origin: 'http://book', Host: 'book:443' }, false],
      [{ Origin: 'http://book', Host: 'book:8080' }, false],
      [{ Origin: 'http://[::1]:8080', Host: '[::1]:8080' }, true],
      [{ Origin: `http://${host}`, 'Sec-Fetch-Site': 'cross-site' }, false],
      [{ Origin: 'http://other', 'Sec-Fetch-Site': 'same-origin' }, true],
    ]
    for (const [headers, isAllowed] of rows) {
      it(`${isAllowed ? 'passes' : 'is refused'} with ${JSON.stringify(headers)}`, async () => {
        const writes = [
          ['PATCH', '/configurations/none'],
          ['DELETE', '/configurations/none'],
          ['PUT', '/nowhere'],
        ] as const
        for (const [method, path] of writes) {
          const answer = await ask(method, path, { headers: { ...headers, Cookie: cookie }, body: {} })
          assert.equal(answer.status, isAllowed ? 404 : 403, method)
          assert.equal(answer.headers['www-authenticate'], isAllowed ? undefined : REALM)
        }
      })
    }

    it('does not end the session by a logout from another site', async () => {
      const logout = await ask('POST', '/logout', { headers: { Cookie: cookie, Origin: 'null' } })
      assert.equal(logout.status, 403)
      assert.equal((await ask('GET', '/configurations/', { headers: { Cookie: cookie } })).status, 200)
    })

    it('is the only kind of request that other sites may not make', async () => {
      const elsewhere = { Origin: 'http://evil', 'Sec-Fetch-Site': 'cross-site' }
      for (const method of ['GET', 'HEAD', 'OPTIONS']) {
        const answer = await ask(method, '/configurations/', { headers: { ...elsewhere, Cookie: cookie } })
        assert.ok(answer.status < 300, method)
      }
      const byBearer = await ask('PATCH', '/configurations/none', {
        headers: { ...elsewhere, Authorization: bearer },
        body: {},
      })
      assert.equal(byBearer.status, 404)
    })
  })

  it('refuses two Authorization headers, whichever comes first', async () => {
    for (const values of [
      [bearer, 'Bearer x'],
      ['Bearer x', bearer],
    ]) {
      const fields = values.map((value) => `Authorization: ${value}\r\n`).join('')
      const received = await sendRaw(service.url, `GET /configurations/ HTTP/1.1\r\nHost: a\r\n${fields}\r\n`)
      assert.deepEqual(
        parseAnswers(received).map(({ status }) => status),
        [400],
      )
    }
  })
})

const late = '{"name":"late","hostname":"h","port":1,"username":"u"}'

describe('a change whose body comes after its head', () => {
  it('is refused when the credential has ended in between', async (t) => {
    const service = await start(t, { flags: ['--access-log'] })
    const other = { Authorization: await service.bearer() }
    for (const headers of [{ Authorization: await service.bearer() }, { Cookie: await service.cookie() }]) {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
      t.after(() => socket.destroy())
      const received = socket.setEncoding('latin1').toArray()
      const request = formatRequest('POST /configurations/', { ...headers, Expect: '100-continue' }, late)
      const head = request.slice(0, -late.length)
      const continued = once(socket, 'readable')
      socket.write(head)
      await continued
      assert.equal((await service.call('/logout', { method: 'POST', headers })).status, 200)
      socket.end(late)
      const text = (await received).join('')
      const [answer] = parseAnswers(text.replace('HTTP/1.1 100 Continue\r\n\r\n', ''))
      assert.equal(answer?.status, 403)
    }
    await eventually('both are logged', () => service.log.events.filter((e) => e === 'request').length >= 4)
    assert.deepEqual(recordsIn(await createClient(service.url, other)('GET', '/configurations/')), [])
  })
})

describe('another site', () => {
  for (const path of ['/login', '/v1/auth/token']) {
    it(`cannot make its visitors try passwords at ${path}`, async (t) => {
      const service = await start(t)
      const ask = createClient(service.url)
      const headers = { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' }
      for (let i = 0; i < 12; i++) {
        const answer = await ask('POST', path, { headers, body: { username: 'admin', password: 'wrong' } })
        assert.equal(answer.status, 403)
      }
      assert.ok(await service.cookie())
      assert.ok(!service.log.events.includes('login_failed'))
    })
  }
})
