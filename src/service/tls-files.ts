import { createPrivateKey, X509Certificate } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { ConnbookError, systemCode, UsageError } from '../errors.ts'
import { PEM_FILE_BYTES_MAX } from '../limits.ts'
import type { TlsTexts } from '../server/http-server.ts'
import { quoteForShell } from '../shell.ts'
import { describeOwner } from '../text.ts'
import type { ServerOptions } from './server-options.ts'

export interface TlsPaths {
  readonly cert: string
  readonly key: string
}

/** A certificate chain and the key that belongs to it. */
export interface TlsPair extends TlsTexts {
  /** The first of the chain: the server's own. */
  readonly certificate: X509Certificate
}

/** Other users have access to the private key. */
export class KeyExposedError extends ConnbookError {
  readonly code = 'key_exposed'
}

const CERTIFICATE = /^-----BEGIN (X509 |TRUSTED )?CERTIFICATE-----/m

/** A file, and the option that names it. */
interface NamedFile {
  readonly flag: string
  readonly path: string
}

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
  const certFile = { flag: '--tls-cert', path: paths.cert }
  const keyFile = { flag: '--tls-key', path: paths.key }
  const cert = readPem(certFile)
  const key = readPem(keyFile, checkPrivate)
  const certificate = parseCertificate(certFile, cert)
  // OpenSSL accepts a key of another type than the certificate's, and then fails each handshake.
  if (!certificate.checkPrivateKey(parseKey(keyFile, key))) {
    const reason = `the key does not belong to the first certificate of --tls-cert "${paths.cert}"`
    throw refused(keyFile, reason, 'give the two that were made for each other')
  }
  try {
    // Checks the rest of the chain.
    process.getBuiltinModule('node:tls').createSecureContext({ cert, key })
  } catch (error) {
    throw refusedByOpenSsl(certFile, error)
  }
  return { cert, key, certificate }
}

/**
 * Reads a file with certificates of authorities, in PEM form.
 *
 * @param flag That names the file.
 * @throws {UsageError} if it cannot be read, or holds no certificate.
 */
export function readAuthorities(flag: string, path: string): string {
  const file = { flag, path }
  const text = readPem(file)
  if (!CERTIFICATE.test(text))
    throw refused(
      file,
      'it holds no certificate in PEM form',
      "name the PEM file of the authority's certificate",
    )
  return text
}

function readPem(file: NamedFile, check: (file: NamedFile, found: Stats) => void = () => {}): string {
  let fd: number | undefined
  try {
    // O_NONBLOCK, because opening a pipe would wait for a writer.
    fd = openSync(file.path, constants.O_RDONLY | constants.O_NONBLOCK)
    const found = fstatSync(fd)
    if (found.isDirectory()) throw refused(file, 'it is a folder', 'name the file in it')
    if (!found.isFile()) throw refused(file, 'it is not a plain file', 'put what it holds into a file')
    check(file, found)
    if (found.size > PEM_FILE_BYTES_MAX) {
      throw refused(file, `it is longer than ${PEM_FILE_BYTES_MAX} bytes`, 'name a PEM file')
    }
    const text = readFileSync(fd, 'utf8')
    if (text.trim() === '') throw refused(file, 'it is empty', 'see whether it was written to the end')
    return text
  } catch (error) {
    throw error instanceof ConnbookError ? error : unreadable(file, error)
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}

/** Allows a group to read a key of root: Debian's ssl-cert, Kubernetes' fsGroup and `install -g` need that. */
function checkPrivate(file: NamedFile, found: Stats) {
  const { mode, uid } = found
  const forOthers = mode & 0o077
  if (process.platform === 'win32' || forOthers === 0 || (uid === 0 && forOthers === 0o040)) return
  const path = quoteForShell(file.path)
  const ownId = process.getuid?.()
  // With mode 600 this process could not read another user's file any more.
  const command =
    ownId === 0 || ownId === uid
      ? `run: chmod 600 ${path}`
      : `run as root: chown root:${process.getgid?.()} ${path} && chmod 640 ${path}`
  throw new KeyExposedError(
    `Cannot use ${file.flag} "${file.path}": others can get at it (${describeOwner(found)}); ${command}`,
  )
}

function parseCertificate(file: NamedFile, text: string): X509Certificate {
  if (!CERTIFICATE.test(text)) {
    const advice = "name the PEM file of the certificate chain, the server's own certificate first"
    throw refused(file, 'it holds no certificate in PEM form', advice)
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
    throw refused(file, 'it holds no private key in PEM form', advice)
  }
  try {
    return createPrivateKey(text)
  } catch (error) {
    if (!text.includes('ENCRYPTED')) throw damaged(file, 'the private key in it', error)
    const advice = `keep it without one: openssl pkey -in ${quoteForShell(file.path)} -out NEW_FILE`
    throw refused(file, 'its key is encrypted, and nobody is asked for a passphrase', advice, error)
  }
}

function refusedByOpenSsl(file: NamedFile, error: unknown): UsageError {
  const isWeak = /_(KEY_TOO_SMALL|MD_TOO_WEAK)$/.test(systemCode(error) ?? '')
  if (!isWeak) return damaged(file, 'a certificate in it', error)
  const reason = 'the key or the signature of a certificate in it is too weak for TLS today'
  return refused(file, reason, 'get one with an RSA key of 2048 bits, or an EC key, and SHA-256', error)
}

function damaged(file: NamedFile, what: string, error: unknown): UsageError {
  const code = systemCode(error) ?? String(error)
  return refused(file, `${what} cannot be understood (${code})`, 'put a whole copy in its place', error)
}

function unreadable(file: NamedFile, error: unknown): UsageError {
  const code = systemCode(error) ?? String(error)
  const known: Record<string, readonly [reason: string, advice: string]> = {
    EACCES: ['this account has no permission to read it', 'see the modes on the way to it: namei -l'],
    ENOENT: ['there is no such file', 'name a PEM file'],
    ENOTDIR: ['there is no such file', 'name a PEM file'],
    ENXIO: ['it is not a plain file', 'put what it holds into a file'],
  }
  const [reason, advice] = known[code] ?? ['it cannot be read', 'see whether the disk works']
  return refused(file, `${reason} (${code})`, advice, error)
}

function refused({ flag, path }: NamedFile, reason: string, advice: string, cause?: unknown): UsageError {
  return new UsageError(`Cannot use ${flag} "${path}": ${reason}; ${advice}`, { cause })
}
