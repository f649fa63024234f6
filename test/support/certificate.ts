import { X509Certificate } from 'node:crypto'
import { copyFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import { type Lifetime, temporaryFolder } from './temporary-folder.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** A certificate for localhost, with its key. */
export interface TestCertificate {
  readonly certPath: string
  readonly keyPath: string
  /** PEM text. */
  readonly cert: string
  /** PEM text. */
  readonly key: string
  /** As `fingerprintOf` gives it for a connection. */
  readonly fingerprint: string
}

/**
 * Writes a new certificate into a folder of its own.
 *
 * @param from Since when it is valid; now if not given.
 * @param days How long it is valid.
 * @param authority Signs it; without one it signs itself, and is an authority.
 */
export async function makeCertificate(
  t: Lifetime,
  {
    from = new Date(),
    days = 100,
    keyType = 'ec',
    authority,
  }: { from?: Date; days?: number; keyType?: 'ec' | 'rsa'; authority?: TestCertificate } = {},
): Promise<TestCertificate> {
  const folder = await temporaryFolder(t)
  const [certPath, keyPath] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  // With another name than its authority, or it would seem to have signed itself.
  const organization = authority === undefined ? 'Test' : 'Signed'
  const subject = [
    { name: 'organizationName', value: organization },
    { name: 'commonName', value: 'localhost' },
  ]
  const { cert: text, private: key } = await generate(subject, {
    keyType,
    algorithm: 'sha256',
    notBeforeDate: from,
    notAfterDate: new Date(from.getTime() + days * DAY_MS),
    extensions: [
      { name: 'basicConstraints', cA: authority === undefined, critical: true },
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] },
    ],
    ...(authority && { ca: { cert: authority.cert, key: authority.key } }),
  })
  // A PEM text ends with its line, so that another may follow it.
  const cert = `${text}\n`
  await writeFile(keyPath, key, { mode: 0o600 })
  await writeFile(certPath, cert)
  return { certPath, keyPath, cert, key, fingerprint: new X509Certificate(cert).fingerprint256 }
}

/** Replaces a file atomically, as a renewal of certificates should. */
export async function replaceFile(path: string, by: string): Promise<void> {
  await copyFile(by, `${path}.new`)
  await rename(`${path}.new`, path)
}
