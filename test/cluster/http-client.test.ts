import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerOptions } from 'node:https'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { TLSSocket } from 'node:tls'
import { openGateway } from '../../src/cluster/gateway.ts'
import { type EtcdTls, openTls } from '../../src/cluster/http-client.ts'
import { UsageError } from '../../src/errors.ts'
import { makeCertificate } from '../support/certificate.ts'
import { fixedPass } from './support/fixed-pass.ts'

describe('certificates for etcd', () => {
  it('must be certificates, and the key must be that of the certificate', async (t) => {
    const { cert, key } = await makeCertificate(t)
    const { key: otherKey } = await makeCertificate(t)
    openTls({})
    openTls({ ca: cert, certificate: cert, key })
    for (const ca of ['', 'no PEM', key])
      assert.throws(() => openTls({ ca }), isUsage(/^Cannot use --etcd-ca: .+; give PEM files/))
    for (const wrong of [
      { certificate: 'no PEM', key },
      { certificate: cert, key: 'no PEM' },
      { certificate: cert, key: otherKey },
    ])
      assert.throws(() => openTls(wrong), isUsage(/^Cannot use --etcd-cert with --etcd-key: .+; give PEM/))
  })
})

const inDays = (days: number) => new Date(Date.now() + days * 24 * 60 * 60 * 1000)

describe('a handshake with etcd that fails', () => {
  it('is explained by what the operator can do', async (t) => {
    const good = await makeCertificate(t)
    const other = await makeCertificate(t)
    const old = await makeCertificate(t, { days: 1, from: inDays(-9) })
    const early = await makeCertificate(t, { from: inDays(9) })
    const member = { cert: good.cert, key: good.key }
    const cases: readonly [ServerOptions, EtcdTls, RegExp, string?][] = [
      [member, { ca: other.cert }, /: [^;]+; give the authority of its certificate with --etcd-ca$/],
      [member, {}, /: [^;]+; give the authority of its certificate with --etcd-ca$/],
      [old, { ca: old.cert }, /: certificate has expired; renew the certificate of this member, /],
      [early, { ca: early.cert }, /: certificate is not yet valid; set the clock of this host, /],
      [member, { ca: good.cert }, /; name the member with --etcd as its certificate does$/, '127.0.0.1'],
    ]
    for (const [options, tls, message, host] of cases) {
      const url = await serve(t, options, host)
      const gateway = openGateway({ endpoints: [url], source: fixedPass({ tls }) })
      t.after(() => gateway.close())
      await assert.rejects(gateway.range({ key: '/a' }), {
        name: 'EtcdError',
        reason: 'tls',
        isUndone: true,
        message,
      })
    }
  })
})

describe('a connection to etcd that breaks', () => {
  it('after its handshake leaves it open whether a change was made', async (t) => {
    const { cert, key } = await makeCertificate(t)
    const server = createTcpServer((raw) => {
      const secured = new TLSSocket(raw, { isServer: true, cert, key })
      secured.on('error', () => {})
      // No record of TLS.
      secured.once('data', () => void raw.write('nonsense'.repeat(10)))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => void server.close())
    const { port } = server.address() as AddressInfo
    const gateway = openGateway({
      endpoints: [`https://localhost:${port}`],
      source: fixedPass({ tls: { ca: cert } }),
    })
    t.after(() => gateway.close())
    await assert.rejects(gateway.transact({ compare: [], success: [], failure: [] }), {
      reason: 'tls',
      isUndone: false,
    })
  })
})

/** Starts a server that makes handshakes as etcd does, and answers nothing. @returns Its URL. */
async function serve(t: TestContext, options: ServerOptions, host = 'localhost'): Promise<string> {
  const server = createServer(options)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `https://${host}:${(server.address() as AddressInfo).port}`
}

function isUsage(message: RegExp) {
  return (error: unknown) => error instanceof UsageError && message.test(error.message)
}
