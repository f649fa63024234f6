import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { describe, it, type TestContext } from 'node:test'
import type { TlsTexts } from '../../src/server/http-server.ts'
import { reloadTls } from '../../src/service/tls-files.ts'
import { makeCertificate } from '../support/certificate.ts'
import { createMemoryLog } from '../support/memory-log.ts'

/** A certificate in files, and a service that may refuse it. */
async function setUp(
  t: TestContext,
  { days = 30, refuse = () => {} }: { days?: number; refuse?: () => void } = {},
) {
  const { certPath, keyPath } = await makeCertificate(t, { days })
  const used: TlsTexts[] = []
  const service = {
    useCertificate(tls: TlsTexts) {
      refuse()
      used.push(tls)
    },
  }
  const log = createMemoryLog()
  return {
    certPath,
    keyPath,
    used,
    log,
    reload: () => reloadTls({ cert: certPath, key: keyPath }, service, log),
  }
}

describe('reloadTls', () => {
  it('activates the content of the files, and logs that', async (t) => {
    const { certPath, keyPath, used, log, reload } = await setUp(t)
    reload()
    const [cert, key] = [await readFile(certPath, 'utf8'), await readFile(keyPath, 'utf8')]
    assert.deepEqual([used[0]?.cert, used[0]?.key], [cert, key])
    const { event, subject, names } = JSON.parse(log.lines[0] ?? '')
    assert.deepEqual([event, subject, names], ['tls_reloaded', 'O=Test, CN=localhost', 'DNS:localhost'])
    assert.deepEqual(log.events, ['tls_reloaded'])
  })

  it('warns about a certificate that expires soon', async (t) => {
    const { log, reload } = await setUp(t, { days: 5 })
    reload()
    assert.deepEqual(log.events, ['tls_reloaded', 'certificate_expires'])
  })

  it('changes nothing and logs why when a file cannot be used', async (t) => {
    const { certPath, used, log, reload } = await setUp(t)
    await writeFile(certPath, 'no PEM')
    reload()
    assert.deepEqual([used, log.events], [[], ['tls_reload_failed']])
    const { level, reason, in_force } = JSON.parse(log.lines[0] ?? '')
    assert.deepEqual([level, in_force], ['error', 'the certificate from before'])
    assert.match(reason, /^Cannot use --tls-cert ".+"/)
  })

  it('survives an unexpected error', async (t) => {
    const refuse = () => {
      throw new Error('made by the test')
    }
    const { log, reload } = await setUp(t, { refuse })
    reload()
    assert.deepEqual(log.events, ['tls_reload_failed'])
    assert.equal(JSON.parse(log.lines[0] ?? '').reason, 'Error: made by the test')
  })
})
