import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectPlain } from 'node:net'
import { describe, it } from 'node:test'
import { connect } from 'node:tls'
import { makeCertificate } from '../support/certificate.ts'
import { createClient } from '../support/http-client.ts'
import { admin, start } from '../support/service.ts'
import { skipPauses } from '../support/skipped-pauses.ts'

describe('over TLS', () => {
  for (const { basePath, name } of [
    { basePath: '/', name: '__Host-connbook_session' },
    { basePath: '/base', name: '__Secure-connbook_session' },
  ]) {
    it(`the cookie under ${basePath} is ${name}, Secure, and opens everything`, async (t) => {
      const tls = await makeCertificate(t)
      const service = await start(t, { tls, flags: ['--base-path', basePath] })
      assert.ok(service.url.startsWith('https://'))
      const ask = createClient(service.url)
      const login = await ask('POST', '/login', { body: admin })
      const [cookie = ''] = login.headers['set-cookie'] ?? []
      const attributes = `HttpOnly; SameSite=Strict; Path=${basePath}; Max-Age`
      assert.match(cookie, new RegExp(`^${name}_[0-9a-f]{8}=[\\w.-]+; ${attributes}=43200; Secure$`))
      const headers = { Cookie: cookie.split(';')[0] ?? '' }
      const unprefixed = { Cookie: headers.Cookie.slice(headers.Cookie.indexOf('connbook')) }
      assert.equal((await ask('GET', '/configurations/', { headers })).status, 200)
      assert.equal((await ask('GET', '/configurations/', { headers: unprefixed })).status, 403)
      const logout = await ask('POST', '/logout', { headers })
      assert.deepEqual(logout.headers['set-cookie'], [`${cookie.split('=', 1)[0]}=; ${attributes}=0; Secure`])
      assert.equal((await ask('GET', '/configurations/', { headers })).status, 403)
    })
  }

  it('versions before 1.2 are refused', async (t) => {
    const tls = await makeCertificate(t)
    const { port } = new URL((await start(t, { tls })).url)
    const outcome = (maxVersion: 'TLSv1.1' | 'TLSv1.2') => {
      const { promise, resolve } = Promise.withResolvers<string>()
      const options = {
        port: Number(port),
        host: '127.0.0.1',
        rejectUnauthorized: false,
        ciphers: 'DEFAULT@SECLEVEL=0',
      }
      const socket = connect({ ...options, minVersion: maxVersion, maxVersion }, () => resolve('connected'))
      socket.on('error', () => resolve('refused'))
      t.after(() => void socket.destroy())
      return promise
    }
    assert.equal(await outcome('TLSv1.2'), 'connected')
    assert.equal(await outcome('TLSv1.1'), 'refused')
  })

  it('the server stops in time although a client never began its handshake', async (t) => {
    skipPauses(t, 3_600_000)
    const tls = await makeCertificate(t)
    const service = await start(t, { tls, flags: ['--shutdown-timeout', '1h'] })
    const idle = connectPlain(Number(new URL(service.url).port), '127.0.0.1')
    await once(idle, 'connect')
    assert.equal((await createClient(service.url)('GET', '/healthz')).status, 200)
    const closed = once(idle, 'close')
    await service.stop()
    await closed
  })
})
