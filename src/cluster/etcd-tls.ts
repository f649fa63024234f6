import type { SecureContext } from 'node:tls'
import { UsageError } from '../errors.ts'

/** Certificates and key as PEM. */
export interface EtcdTls {
  readonly ca?: string | undefined
  readonly certificate?: string | undefined
  readonly key?: string | undefined
}

/** Made once, and not for each connection. @throws {UsageError} if one of them is not what it should be. */
export function openTls({ ca, certificate, key }: EtcdTls): SecureContext {
  const { createSecureContext } = process.getBuiltinModule('node:tls')
  const { X509Certificate } = process.getBuiltinModule('node:crypto')
  if (ca !== undefined) {
    // A context takes any text.
    check('--etcd-ca', () => new X509Certificate(ca))
  }
  return check('--etcd-cert with --etcd-key', () => createSecureContext({ ca, cert: certificate, key }))
}

/**
 * What to do about a handshake that failed, as the end of a sentence; undefined if that is not clear.
 *
 * @param code Of the error. @see https://nodejs.org/api/tls.html#x509-certificate-error-codes
 */
export function remedyOfHandshake(code: string, { certificate }: EtcdTls): string | undefined {
  if (code === 'CERT_HAS_EXPIRED')
    return 'renew the certificate of this member, or that of its authority, or set the clock of this host'
  if (code === 'CERT_NOT_YET_VALID') return 'set the clock of this host, or that of the member'
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'name the member with --etcd as its certificate does'
  if (/^(?:UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|CERT_)/.test(code))
    return 'give the authority of its certificate with --etcd-ca'
  // etcd says the same of each certificate that it does not take, and of none.
  if (!/ALERT_(?:BAD|UNKNOWN|.*CERTIFICATE|.*_CA$)/.test(code)) return undefined
  return certificate === undefined
    ? 'it wants a client certificate: give --etcd-cert and --etcd-key'
    : 'it does not take the client certificate: check the dates of --etcd-cert, and that its authority is the one that etcd trusts'
}

function check<Result>(flags: string, open: () => Result): Result {
  try {
    return open()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`Cannot use ${flags}: ${reason}; give PEM files that fit each other`, {
      cause: error,
    })
  }
}
