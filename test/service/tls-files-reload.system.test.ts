import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { chmod } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import { makeCertificate, replaceFile, type TestCertificate } from '../support/certificate.ts'
import { eventually } from '../support/eventually.ts'
import { type RunningServer, startExecutable } from '../support/executable.ts'
import { createClient } from '../support/http-client.ts'
import { parseAnswers } from '../support/raw-http.ts'
import { admin, usedFolder } from '../support/service.ts'
import { beginLogin, connectTls, exchange, fingerprintOf, shownFingerprint } from '../support/tls-client.ts'
import { eventsAfterEarlyHangUp, hangUp, logOf } from './hang-up.ts'

async function startWith(t: TestContext, { certPath, keyPath }: TestCertificate): Promise<RunningServer> {
  const data = await usedFolder(t)
  const flags = ['--tls-cert', certPath, '--tls-key', keyPath, '--data', data]
  return startExecutable(t, flags)
}

describe('SIGHUP', () => {
  it('activates a new certificate, and a request in flight is answered on its connection', async (t) => {
    const [old, next] = [await makeCertificate(t), await makeCertificate(t)]
    const server = await startWith(t, old)
    const socket = await connectTls(t, server.url)
    const body = JSON.stringify(admin)
    await beginLogin(socket, body)
    await replaceFile(old.certPath, next.certPath)
    await replaceFile(old.keyPath, next.keyPath)

    const { level, subject, names, valid_to } = await hangUp(server, 'tls_reloaded')

    assert.deepEqual([level, subject, names], ['info', 'O=Test, CN=localhost', 'DNS:localhost'])
    assert.ok(Date.parse(String(valid_to)) > Date.now())
    assert.equal(await shownFingerprint(t, server.url), next.fingerprint)
    const [login] = parseAnswers(await exchange(socket, body))
    assert.deepEqual([login?.status, login?.body], [200, 'Authorized'])
    const [ready] = parseAnswers(await exchange(socket, 'GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n'))
    assert.equal(ready?.status, 200)
    assert.equal(fingerprintOf(socket), old.fingerprint)
    socket.destroy()
    assert.equal(await server.stop(), 0)
  })

  it('changes nothing while the new pair is incomplete, and logs why', async (t) => {
    const [old, next] = [await makeCertificate(t), await makeCertificate(t)]
    const server = await startWith(t, old)
    const isRefused = async (reason: RegExp) => {
      const line = await hangUp(server, 'tls_reload_failed')
      assert.deepEqual([line.level, line.in_force], ['error', 'the certificate from before'])
      assert.match(String(line.reason), reason)
      assert.equal(await shownFingerprint(t, server.url), old.fingerprint)
    }
    await replaceFile(old.certPath, next.certPath)
    await isRefused(/^Cannot use --tls-key ".+": the key does not belong to .+; give the two/)
    await replaceFile(old.keyPath, next.certPath)
    await isRefused(/^Cannot use --tls-key ".+": it holds no private key in PEM form; name /)
    await replaceFile(old.keyPath, next.keyPath)
    await chmod(old.keyPath, 0o644)
    await isRefused(/^Cannot use --tls-key ".+": others can get at it \(.+\); run: chmod 600 '/)
    await chmod(old.keyPath, 0o600)
    await hangUp(server, 'tls_reloaded')
    assert.equal(await shownFingerprint(t, server.url), next.fingerprint)
    assert.equal(await server.stop(), 0)
  })

  it('may come many times in a row', async (t) => {
    const server = await startWith(t, await makeCertificate(t))
    for (let i = 0; i < 20; i += 1) server.process.kill('SIGHUP')
    await hangUp(server, 'tls_reloaded')
    assert.equal((await createClient(server.url)('GET', '/readyz')).status, 200)
    assert.equal(await server.stop(), 0)
  })

  it('warns about a certificate that expires soon, as the start does', async (t) => {
    const [soon, later] = [await makeCertificate(t, { days: 5 }), await makeCertificate(t)]
    const server = await startWith(t, soon)
    const warnings = () => logOf(server).filter(({ event }) => event.startsWith('certificate_'))
    await eventually('the start warns', () => warnings().length === 1)
    await hangUp(server, 'tls_reloaded')
    await eventually('the reload warns', () => warnings().length === 2)
    for (const { event, days } of warnings()) assert.deepEqual([event, days], ['certificate_expires', 4])
    await replaceFile(soon.certPath, later.certPath)
    await replaceFile(soon.keyPath, later.keyPath)
    await hangUp(server, 'tls_reloaded')
    assert.equal(await server.stop(), 0)
    assert.equal(warnings().length, 2)
  })

  it('during the start is obeyed after it', async (t) => {
    const { certPath, keyPath } = await makeCertificate(t)
    const flags = ['--tls-cert', certPath, '--tls-key', keyPath]
    assert.deepEqual(await eventsAfterEarlyHangUp(t, flags), ['listening', 'first_start', 'tls_reloaded'])
  })
})

const DAY_MS = 24 * 60 * 60 * 1000

it('serves with an expired certificate, and logs that', async (t) => {
  const server = await startWith(
    t,
    await makeCertificate(t, { days: 10, from: new Date(Date.now() - 30 * DAY_MS) }),
  )
  await eventually('it warns', () => server.stderr().includes('"event":"certificate_expired"'))
  assert.equal((await createClient(server.url)('GET', '/readyz')).status, 200)
  assert.equal(await server.stop(), 0)
})
