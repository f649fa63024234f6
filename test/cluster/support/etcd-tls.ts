import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openSsl } from '../../support/openssl.ts'
import { type Lifetime, temporaryFolder } from '../../support/temporary-folder.ts'
import type { ClientTls } from './etcd-client.ts'

export { noOpenSsl } from '../../support/openssl.ts'

/** A certificate with its key, as files. */
export interface CertificateFiles {
  readonly certPath: string
  readonly keyPath: string
}

/** An authority, and what it has signed. */
export interface EtcdCertificates {
  readonly caPath: string
  /** For a client; without a CommonName, as etcd's gateway demands when it has authentication. */
  readonly clientFiles: CertificateFiles
  /** The same with a CommonName. */
  readonly namedFiles: CertificateFiles
  /** For members: clients must show a certificate. */
  readonly serverArgs: readonly string[]
  /** For clients of tests: `clientFiles` as text. */
  readonly client: ClientTls
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** Makes an authority with a certificate for members on the loopback interface and two for clients. */
export async function makeEtcdCertificates(
  t: Lifetime,
  { needsClientCertificate = true }: { needsClientCertificate?: boolean } = {},
): Promise<EtcdCertificates> {
  const folder = await temporaryFolder(t)
  const path = (name: string) => join(folder, name)
  const caPath = path('ca.pem')
  const ca = ['-keyout', path('ca.key'), '-out', caPath, '-subj', '/O=Test authority', '-days', '10']
  openSsl(['req', '-x509', ...KEY, ...ca])
  await writeFile(path('names'), 'subjectAltName=IP:127.0.0.1,DNS:localhost')
  let serial = 0
  const sign = (name: string, subject: string): CertificateFiles => {
    const [certPath, keyPath, request] = [path(`${name}.pem`), path(`${name}.key`), path(`${name}.csr`)]
    openSsl(['req', '-new', ...KEY, '-keyout', keyPath, '-out', request, '-subj', subject])
    const by = ['-CA', caPath, '-CAkey', path('ca.key'), '-set_serial', String(++serial)]
    openSsl([
      'x509',
      '-req',
      '-in',
      request,
      '-out',
      certPath,
      '-days',
      '10',
      '-extfile',
      path('names'),
      ...by,
    ])
    return { certPath, keyPath }
  }
  // The gateway of a member calls the member with this one: a CommonName would make that call somebody's.
  const server = sign('server', '/O=Test member')
  const clientFiles = sign('client', '/O=Test client')
  const read = (file: string) => readFileSync(file, 'utf8')
  return {
    caPath,
    clientFiles,
    namedFiles: sign('named', '/O=Test client/CN=connbook'),
    serverArgs: [
      ...['--cert-file', server.certPath, '--key-file', server.keyPath, '--trusted-ca-file', caPath],
      ...(needsClientCertificate ? ['--client-cert-auth'] : []),
    ],
    client: { ca: read(caPath), cert: read(clientFiles.certPath), key: read(clientFiles.keyPath) },
  }
}
