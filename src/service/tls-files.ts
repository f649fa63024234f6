import { createPrivateKey, X509Certificate } from 'node:crypto'
import { ConnbookError, systemCode, type UsageError } from '../errors.ts'
import { type NamedFile, readNamedFile, refusedFile } from '../files/named-file.ts'
import { PEM_FILE_BYTES_MAX } from '../limits.ts'
import type { Log } from '../log.ts'
import type { TlsTexts } from '../server/http-server.ts'
import { quoteForShell } from '../shell.ts'
import type { ServerOptions } from './server-options.ts'
import type { Service } from './service.ts'
import { warnOfDates } from './start-checks.ts'

export interface TlsPaths {
  readonly cert: string
  readonly key: string
}

/** A certificate chain and the key that belongs to it. */
export interface TlsPair extends TlsTexts {
  /** The first of the chain: the server's own. */
  readonly certificate: X509Certificate
}

const CERTIFICATE = /^-----BEGIN (X509 |TRUSTED )?CERTIFICATE-----/m

/** Undefined for plain HTTP. */
export function tlsPathsOf({ tlsCert, tlsKey }: ServerOptions): TlsPaths | undefined {
  return tlsCert === undefined || tlsKey === undefined ? undefined : { cert: tlsCert, key: tlsKey }
}

/**
 * Reads a certificate chain and its key, and checks all but their dates. Follows symbolic links.
 *
 * @throws {KeyExposedError} if other users have access to the key; names the command that mends it.
 * @throws {UsageError} if a file cannot be read, is not what it should be, or the two do not belong together.
 */
export function readTlsFiles(paths: TlsPaths): TlsPair {
  const certFile = pemFile('--tls-cert', paths.cert)
  const keyFile = pemFile('--tls-key', paths.key)
  const cert = readNamedFile(certFile, { isSecret: false })
  const key = readNamedFile(keyFile, { isSecret: true })
  const certificate = parseCertificate(certFile, cert)
  // OpenSSL accepts a key of another type than the certificate's, and then fails each handshake.
  if (!certificate.checkPrivateKey(parseKey(keyFile, key))) {
    const reason = `the key does not belong to the first certificate of --tls-cert "${paths.cert}"`
    throw refusedFile(keyFile, reason, 'give the two that were made for each other')
  }
  try {
    // Checks the rest of the chain.
    process.getBuiltinModule('node:tls').createSecureContext({ cert, key })
  } catch (error) {
    throw refusedByOpenSsl(certFile, error)
  }
  return { cert, key, certificate }
}

/** Reads certificate and key again; an error is logged and changes nothing. */
export function reloadTls(paths: TlsPaths, service: Pick<Service, 'useCertificate'>, log: Log): void {
  try {
    const pair = readTlsFiles(paths)
    service.useCertificate(pair)
    log.info('tls_reloaded', describe(pair.certificate))
    warnOfDates(pair.certificate, log)
  } catch (error) {
    // An unforeseen error must not end the server either.
    const reason = error instanceof ConnbookError ? error.message : String(error)
    log.error('tls_reload_failed', { reason, in_force: 'the certificate from before' })
  }
}

/**
 * Reads a file with certificates of authorities, in PEM form.
 *
 * @param flag That names the file.
 * @throws {UsageError} if it cannot be read, or holds no certificate.
 */
export function readAuthorities(flag: string, path: string): string {
  const file = pemFile(flag, path)
  const text = readNamedFile(file, { isSecret: false })
  if (!CERTIFICATE.test(text))
    throw refusedFile(
      file,
      'it holds no certificate in PEM form',
      "name the PEM file of the authority's certificate",
    )
  return text
}

function describe(certificate: X509Certificate) {
  return {
    // OpenSSL puts each part on a line; undefined if the certificate has only names.
    subject: certificate.subject?.replaceAll('\n', ', '),
    names: certificate.subjectAltName,
    valid_to: certificate.validToDate.toISOString(),
  }
}

function pemFile(flag: string, path: string): NamedFile {
  return { flag, path, kind: 'PEM file', bytesMax: PEM_FILE_BYTES_MAX }
}

function parseCertificate(file: NamedFile, text: string): X509Certificate {
  if (!CERTIFICATE.test(text)) {
    const advice = "name the PEM file of the certificate chain, the server's own certificate first"
    throw refusedFile(file, 'it holds no certificate in PEM form', advice)
  }
  try {
    return new X509Certificate(text)
  } catch (error) {
    throw refusedByOpenSsl(file, error)
  }
}

function parseKey(file: NamedFile, text: string) {
  if (!/^-----BEGIN ([A-Z]+ )?PRIVATE KEY-----/m.test(text)) {
    const advice = 'name the PEM file of the key that the certificate was made with'
    throw refusedFile(file, 'it holds no private key in PEM form', advice)
  }
  try {
    return createPrivateKey(text)
  } catch (error) {
    if (!text.includes('ENCRYPTED')) throw damaged(file, 'the private key in it', error)
    const advice = `keep it without one: openssl pkey -in ${quoteForShell(file.path)} -out NEW_FILE`
    throw refusedFile(file, 'its key is encrypted, and nobody is asked for a passphrase', advice, error)
  }
}

function refusedByOpenSsl(file: NamedFile, error: unknown): UsageError {
  const isWeak = /_(KEY_TOO_SMALL|MD_TOO_WEAK)$/.test(systemCode(error) ?? '')
  if (!isWeak) return damaged(file, 'a certificate in it', error)
  const reason = 'the key or the signature of a certificate in it is too weak for TLS today'
  return refusedFile(file, reason, 'get one with an RSA key of 2048 bits, or an EC key, and SHA-256', error)
}

function damaged(file: NamedFile, what: string, error: unknown): UsageError {
  const code = systemCode(error) ?? String(error)
  return refusedFile(file, `${what} cannot be understood (${code})`, 'put a whole copy in its place', error)
}
