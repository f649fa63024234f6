import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTrust, findOrigin } from '../../src/server/proxy-trust.ts'
import { REFUSAL_PAUSE_MS } from '../../src/server/request-order.ts'
import { createClient } from '../support/http-client.ts'
import { admin, start } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'

const FREE_ATTEMPTS = 10

describe('findOrigin', () => {
  const trusted = createTrust([
    { address: '127.0.0.1', bits: 32 },
    { address: '10.0.0.0', bits: 8 },
    { address: 'fd00::', bits: 8 },
  ])
  const rows: [what: string, peer: string, forwardedFor: string | undefined, address: string][] = [
    ['one hop', '127.0.0.1', '192.0.2.1', '192.0.2.1'],
    ['a hop of IPv6', '127.0.0.1', '2001:db8::1', '2001:db8::1'],
    ['a trusted peer of IPv6', 'fd00::1', '192.0.2.1', '192.0.2.1'],
    ['two proxies', '127.0.0.1', '192.0.2.1, 10.1.2.3', '192.0.2.1'],
    ['what the caller made up', '127.0.0.1', '198.51.100.1, 192.0.2.1', '192.0.2.1'],
    ['a proxy that the caller made up', '127.0.0.1', '198.51.100.1, 10.1.2.3, 192.0.2.1', '192.0.2.1'],
    ['nothing but proxies', '127.0.0.1', '10.1.2.3, 10.9.9.9', '10.1.2.3'],
    ['ports', '127.0.0.1', '[2001:db8::1]:443, 10.0.0.1:80', '2001:db8::1'],
    ['a mapped address', '127.0.0.1', '::ffff:192.0.2.1', '192.0.2.1'],
    ['a mapped address with a zone', '127.0.0.1', '::ffff:192.0.2.1%eth0', '127.0.0.1'],
    ['no header', '127.0.0.1', undefined, '127.0.0.1'],
    ['an empty header', '127.0.0.1', '', '127.0.0.1'],
    ['no address', '127.0.0.1', 'unknown', '127.0.0.1'],
    ['no address before a proxy', '127.0.0.1', 'unknown, 10.0.0.1', '10.0.0.1'],
    ['a peer that is not trusted', '192.0.2.9', '198.51.100.1', '192.0.2.9'],
    ['a peer just outside', '11.0.0.1', '198.51.100.1', '11.0.0.1'],
    ['no peer', '', '198.51.100.1', ''],
  ]
  for (const [what, address, forwardedFor, expected] of rows) {
    it(`takes the last address that is no proxy's: ${what}`, () => {
      const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }
      const found = findOrigin({ address, isSecure: false }, headers, trusted)
      assert.deepEqual(found, { address: expected, isSecure: false })
    })
  }

  for (const [scheme, isPeerSecure, isSecure] of [
    ['https', false, true],
    ['HTTPS', false, true],
    ['http', true, false],
    ['http, https', false, true],
    ['https, http', false, false],
    ['', true, false],
    [undefined, true, true],
    [undefined, false, false],
  ] as const) {
    it(`takes ${scheme} over a ${isPeerSecure ? 'secure' : 'plain'} connection as ${isSecure ? 'secure' : 'plain'}`, () => {
      const headers = scheme === undefined ? {} : { 'x-forwarded-proto': scheme }
      const found = findOrigin({ address: '10.0.0.1', isSecure: isPeerSecure }, headers, trusted)
      assert.equal(found.isSecure, isSecure)
    })
  }

  it('takes the last host that a proxy says, and none that is empty', () => {
    const hostOf = (host: string, address = '10.0.0.1') =>
      findOrigin({ address, isSecure: false }, { 'x-forwarded-host': host }, trusted).forwardedHost
    assert.equal(hostOf('forged, book:81'), 'book:81')
    assert.equal(hostOf(''), undefined)
    assert.equal(hostOf('book, '), undefined)
    assert.equal(hostOf('book', '192.0.2.9'), undefined)
  })

  it('trusts a peer on a Unix socket only as "unix"', () => {
    const headers = { 'x-forwarded-for': 'unix, 192.0.2.1' }
    const peer = { address: 'unix', isSecure: false }
    const everybody = createTrust([
      { address: '0.0.0.0', bits: 0 },
      { address: '::', bits: 0 },
    ])
    assert.deepEqual(findOrigin(peer, headers, everybody), peer)
    const proxy = createTrust([{ address: 'unix', bits: 0 }])
    assert.deepEqual(findOrigin(peer, headers, proxy), { ...peer, address: '192.0.2.1' })
    const remote = { address: '192.0.2.1', isSecure: false }
    assert.deepEqual(findOrigin(remote, { 'x-forwarded-for': '192.0.2.2' }, proxy), remote)
  })

  it('trusts nobody by default', () => {
    const headers = { 'x-forwarded-for': '192.0.2.1', 'x-forwarded-proto': 'https' }
    const peer = { address: '127.0.0.1', isSecure: false }
    assert.deepEqual(findOrigin(peer, headers, undefined), peer)
    assert.deepEqual(findOrigin({ ...peer, address: '192.0.2.9' }, headers, trusted), {
      ...peer,
      address: '192.0.2.9',
    })
  })
})

describe('behind a trusted proxy', () => {
  const flags = ['--trust-proxy', '192.0.2.0/24', '--trust-proxy', '127.0.0.1/32']

  it('the cookie is Secure only over TLS, and is then accepted only over TLS', async (t) => {
    const ask = createClient((await start(t, { flags })).url)
    const overTls = { 'X-Forwarded-Proto': 'https' }
    const login = await ask('POST', '/login', { body: admin, headers: overTls })
    const [cookie = ''] = login.headers['set-cookie'] ?? []
    assert.match(cookie, /^__Host-connbook_session_[0-9a-f]{8}=.+; Path=\/; Max-Age=43200; Secure$/)
    const headers = { Cookie: cookie.split(';')[0] ?? '' }
    assert.equal((await ask('GET', '/configurations/', { headers: { ...headers, ...overTls } })).status, 200)
    assert.equal((await ask('GET', '/configurations/', { headers })).status, 403)
    const [plain = ''] = (await ask('POST', '/login', { body: admin })).headers['set-cookie'] ?? []
    assert.match(plain, /^connbook_session_[0-9a-f]{8}=[^;]+(?!.*Secure)/)
  })

  it('failed logins count for the caller, not for the proxy', async (t) => {
    skipPauses(t, REFUSAL_PAUSE_MS)
    const service = await start(t, { flags })
    const ask = createClient(service.url)
    const logIn = async (password: string, address: string) => {
      const headers = { 'X-Forwarded-For': `203.0.113.5, ${address}, 192.0.2.77` }
      return (await ask('POST', '/login', { body: { ...admin, password }, headers })).status
    }
    for (let i = 0; i < FREE_ATTEMPTS; i++) assert.equal(await logIn('wrong', '198.51.100.1'), 401)
    assert.equal(await logIn(admin.password, '198.51.100.1'), 429)
    assert.equal(await logIn(admin.password, '198.51.100.2'), 200)
    const logged = service.log.lines.filter((line) => line.includes('login_throttled'))
    assert.equal(JSON.parse(logged[0] ?? '').address, '198.51.100.1')
  })

  it('nobody but the proxy can set the address of the caller', async (t) => {
    const service = await start(t, { flags: ['--trust-proxy', '192.0.2.0/24', '--access-log'] })
    const ask = createClient(service.url)
    const headers = { 'X-Forwarded-For': '198.51.100.1', 'X-Forwarded-Proto': 'https' }
    const login = await ask('POST', '/login', { body: admin, headers })
    assert.match(String(login.headers['set-cookie']), /^connbook_session_[0-9a-f]{8}=[^;]+(?!.*Secure)/)
    const logged = service.log.lines.find((line) => line.includes('"logged_in"'))
    assert.equal(JSON.parse(logged ?? '').address, '127.0.0.1')
  })
})
