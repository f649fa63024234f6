import type { SecureContext } from 'node:tls'
import { UsageError } from '../../errors.ts'

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
