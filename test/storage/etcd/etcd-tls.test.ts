import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { UsageError } from '../../../src/errors.ts'
import { openTls } from '../../../src/storage/etcd/etcd-tls.ts'
import { makeCertificate, noOpenSsl } from '../../support/certificate.ts'

describe('certificates for etcd', { skip: noOpenSsl }, () => {
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

function isUsage(message: RegExp) {
  return (error: unknown) => error instanceof UsageError && message.test(error.message)
}
