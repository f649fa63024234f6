import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { copyFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { missing } from './debian.ts'
import { type Lifetime, temporaryFolder } from './temporary-folder.ts'

/** For the `skip` of a test that makes certificates. */
export const noOpenSsl = missing('openssl')

/** A certificate that signs itself, for localhost, with its key. */
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

interface Pair {
  readonly cert: string
  readonly key: string
}

/** By the options that they were made with; no running test has these. */
const unused = new Map<string, Pair[]>()

/**
 * Writes a certificate into a folder of its own. It is no other that this test has, but a test that has ended may have
 * had it: to start openssl takes longer than most tests.
 *
 * @param newKey The kind of key, for `openssl req`.
 * @param through A command that runs openssl, faketime for example, with that command's arguments.
 */
export async function makeCertificate(
  t: Lifetime,
  {
    days = 100,
    newKey = ['ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
    through = [],
  }: { days?: number; newKey?: readonly string[]; through?: readonly string[] } = {},
): Promise<TestCertificate> {
  const folder = await temporaryFolder(t)
  const [certPath, keyPath] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  const kind = JSON.stringify([days, newKey, through])
  const known = unused.get(kind)?.pop()
  if (known === undefined) {
    const names = ['-subj', '/O=Test/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
    const files = ['-keyout', keyPath, '-out', certPath]
    openSsl(
      ['req', '-x509', '-newkey', ...newKey, '-nodes', '-days', String(days), ...names, ...files],
      through,
    )
  } else {
    writeFileSync(keyPath, known.key, { mode: 0o600 })
    writeFileSync(certPath, known.cert)
  }
  const [cert, key] = [readFileSync(certPath, 'utf8'), readFileSync(keyPath, 'utf8')]
  t.after(() => {
    unused.set(kind, [...(unused.get(kind) ?? []), { cert, key }])
  })
  return { certPath, keyPath, cert, key, fingerprint: new X509Certificate(cert).fingerprint256 }
}

export function openSsl(args: readonly string[], through: readonly string[] = []): void {
  const [command = 'openssl', ...rest] = [...through, 'openssl', ...args]
  execFileSync(command, rest, { stdio: ['ignore', 'ignore', 'pipe'] })
}

/** Replaces a file atomically, as a renewal of certificates should. */
export async function replaceFile(path: string, by: string): Promise<void> {
  await copyFile(by, `${path}.new`)
  await rename(`${path}.new`, path)
}
