import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import type { SecureVersion } from 'node:tls'
import { makeCertificate } from '../support/certificate.ts'
import { createClient } from '../support/http-client.ts'
import { parseAnswers } from '../support/raw-http.ts'
import { admin, start } from '../support/service.ts'
import { beginLogin, connectTls, exchange, fingerprintOf, shownFingerprint } from '../support/tls-client.ts'

describe('another certificate', () => {
  it('is shown to all new connections', async (t) => {
    const [old, next] = [await makeCertificate(t), await makeCertificate(t)]
    const service = await start(t, { tls: old })
    assert.equal(await shownFingerprint(t, service.url), old.fingerprint)
    for (const certificate of [next, old, next]) {
      service.useCertificate(certificate)
      assert.equal(await shownFingerprint(t, service.url), certificate.fingerprint)
    }
  })

  it('may come with a key of another kind', async (t) => {
    const [old, next] = [await makeCertificate(t), await makeCertificate(t, { keyType: 'rsa' })]
    const service = await start(t, { tls: old })
    service.useCertificate(next)
    assert.equal(await shownFingerprint(t, service.url), next.fingerprint)
  })

  it('leaves a request in flight and idle connections alone', async (t) => {
    const [old, next] = [await makeCertificate(t), await makeCertificate(t)]
    const service = await start(t, { tls: old })
    const [busy, idle] = [await connectTls(t, service.url), await connectTls(t, service.url)]
    const ping = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'
    assert.equal(parseAnswers(await exchange(idle, ping))[0]?.status, 200)
    const body = JSON.stringify(admin)
    await beginLogin(busy, body)

    service.useCertificate(next)

    assert.equal(await shownFingerprint(t, service.url), next.fingerprint)
    const [login] = parseAnswers(await exchange(busy, body))
    assert.deepEqual([login?.status, login?.body], [200, 'Authorized'])
    for (const socket of [busy, idle]) {
      assert.equal(parseAnswers(await exchange(socket, ping))[0]?.status, 200)
      assert.equal(fingerprintOf(socket), old.fingerprint)
    }
  })

  it('still refuses versions before TLS 1.2', async (t) => {
    const [old, next] = [await makeCertificate(t), await makeCertificate(t)]
    const service = await start(t, { tls: old })
    service.useCertificate(next)
    const only = (version: SecureVersion) => ({
      minVersion: version,
      maxVersion: version,
      ciphers: 'DEFAULT@SECLEVEL=0',
    })
    await connectTls(t, service.url, only('TLSv1.2'))
    await assert.rejects(connectTls(t, service.url, only('TLSv1.1')), {
      code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
    })
  })

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    it(`is shown to a client that would resume a session of the old one, over ${version}`, async (t) => {
      const [old, next] = [await makeCertificate(t), await makeCertificate(t)]
      const service = await start(t, { tls: old })
      const only = { minVersion: version, maxVersion: version }
      const first = await connectTls(t, service.url, only)
      const ping = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'
      const ticket = version === 'TLSv1.3' ? once(first, 'session') : [first.getSession()]
      await exchange(first, ping)
      const [session] = (await ticket) as [Buffer]
      const resumed = await connectTls(t, service.url, { ...only, session })
      assert.equal(resumed.isSessionReused(), true, 'there is nothing to resume')

      service.useCertificate(next)

      const again = await connectTls(t, service.url, { ...only, session })
      assert.equal(again.isSessionReused(), false)
      assert.equal(fingerprintOf(again), next.fingerprint)
      assert.equal(parseAnswers(await exchange(again, ping))[0]?.status, 200)
    })
  }

  it('ends when the metrics say', async (t) => {
    const [old, next] = [await makeCertificate(t, { days: 30 }), await makeCertificate(t, { days: 60 })]
    const service = await start(t, { tls: old, flags: ['--metrics-public'] })
    const ask = createClient(service.url)
    const assertEnd = async (pem: string) => {
      const { text } = await ask('GET', '/metrics')
      const end = new X509Certificate(pem).validToDate.getTime() / 1000
      assert.match(text, new RegExp(`^connbook_certificate_end_timestamp_seconds ${end}$`, 'm'))
    }
    service.useCertificate(next)
    await assertEnd(next.cert)
    assert.throws(() => service.useCertificate({ cert: 'no PEM', key: 'no PEM' }))
    await assertEnd(next.cert)
  })

  it('changes nothing if it cannot be used', async (t) => {
    const old = await makeCertificate(t)
    const service = await start(t, { tls: old })
    assert.throws(() => service.useCertificate({ cert: 'no PEM', key: 'no PEM' }))
    assert.equal(await shownFingerprint(t, service.url), old.fingerprint)
  })

  it('is refused by a server of plain HTTP', async (t) => {
    const service = await start(t)
    const next = await makeCertificate(t)
    assert.throws(() => service.useCertificate(next), /plain HTTP/)
    assert.equal((await service.call('/healthz')).status, 200)
  })
})
