import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import { callEndpoint, UntrustedError } from '../../src/client/call.ts'
import { parseEndpoint } from '../../src/client/endpoint.ts'
import { makeCertificate, type TestCertificate } from '../support/certificate.ts'

/** A server with a certificate, which counts what it is sent. @returns What calls it by a host, trusting some authorities. */
async function serve(t: TestContext, { cert, key }: Pick<TestCertificate, 'cert' | 'key'>) {
  const seen: (string | undefined)[] = []
  const server = createServer({ cert, key }, (request, response) => {
    seen.push(request.headers.authorization)
    response.end('here')
  }).listen(0, '127.0.0.1')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const call = (host: string, ...authorities: string[]) => {
    const endpoint = parseEndpoint(`https://${host}:${port}`) ?? assert.fail('it is no endpoint')
    const headers = { Authorization: 'Bearer mine' }
    return callEndpoint({ ...endpoint, authorities }, { method: 'GET', path: '/', headers })
  }
  return { call, seen }
}

const untrusted = (message: RegExp) => (error: unknown) =>
  error instanceof UntrustedError && message.test(error.message)

describe('a call with TLS', () => {
  it('is made to a server whose certificate is given, or that of its authority', async (t) => {
    const itself = await makeCertificate(t)
    const { call, seen } = await serve(t, itself)
    assert.equal((await call('localhost', itself.cert)).text, 'here')
    const signed = await makeSigned(t)
    const other = await serve(t, signed)
    assert.equal((await other.call('localhost', signed.authority)).text, 'here')
    assert.deepEqual([...seen, ...other.seen], ['Bearer mine', 'Bearer mine'])
  })

  it('sends nothing to a server that nobody vouches for, and says how to trust it', async (t) => {
    const itself = await serve(t, await makeCertificate(t))
    const advice =
      /^Cannot trust the certificate of https:\/\/localhost:\d+ \(([A-Z_]+)\); give --ca FILE with the certificate of its authority$/
    await assert.rejects(itself.call('localhost'), untrusted(advice))
    const signed = await serve(t, await makeSigned(t))
    await assert.rejects(signed.call('localhost'), untrusted(advice))
    const another = await makeCertificate(t)
    await assert.rejects(signed.call('localhost', another.cert), untrusted(advice))
    assert.deepEqual([...itself.seen, ...signed.seen], [])
  })

  it('sends nothing to another host, and says which one the certificate names', async (t) => {
    const certificate = await makeCertificate(t)
    const { call, seen } = await serve(t, certificate)
    const message =
      /\(ERR_TLS_CERT_ALTNAME_INVALID\); it is of another host \(localhost\); name the server as its certificate does$/
    await assert.rejects(call('127.0.0.1', certificate.cert), untrusted(message))
    assert.deepEqual(seen, [])
  })

  it('sends nothing to a certificate that has expired or is not valid yet, and says what to renew or set', async (t) => {
    const rows = [
      [
        '2001-01-01',
        /\(CERT_HAS_EXPIRED\); it, or that of its authority, has expired; renew it at the server/,
      ],
      ['2090-01-01', /\(CERT_NOT_YET_VALID\); it is not valid yet; set the clock here/],
    ] as const
    for (const [day, message] of rows) {
      const certificate = await makeCertificate(t, { from: new Date(day) })
      const { call, seen } = await serve(t, certificate)
      await assert.rejects(call('localhost', certificate.cert), untrusted(message))
      assert.deepEqual(seen, [])
    }
  })
})

/** A certificate that an authority has signed, and that authority's. */
async function makeSigned(t: TestContext) {
  const authority = await makeCertificate(t)
  return { ...(await makeCertificate(t, { authority })), authority: authority.cert }
}
