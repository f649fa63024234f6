import { isIP } from 'node:net'
import { UsageError } from '../errors.ts'
import type { Log } from '../log.ts'
import { isLoopback } from '../network.ts'
import { ClusterKeys } from './cluster-keys.ts'
import { type EtcdFileOptions, EtcdFiles } from './etcd-files.ts'
import { type Gateway, openGateway } from './gateway.ts'
import { openSealer, type Sealer } from './sealed-text.ts'

/** What options say of an etcd cluster. */
export interface ClusterOptions extends EtcdFileOptions {
  /** URLs; undefined if the records are in the data folder. */
  readonly etcd: readonly string[] | undefined
  readonly etcdPrefix: string
  readonly etcdKeyFile: string | undefined
  readonly etcdPlain: boolean
}

/** A cluster that may be used; nothing has been asked of it yet. */
export interface ClusterAccess extends Disposable {
  readonly gateway: Gateway
  readonly keys: ClusterKeys
  readonly sealer: Sealer
  /** For messages. */
  readonly place: string
  /** Reads the credential files for etcd again. Undefined without such files. */
  readonly reload: (() => void) | undefined
}

/**
 * Undefined if the records are in the data folder.
 *
 * @param log As for `EtcdFiles`.
 * @throws {UsageError} {KeyExposedError} if the options do not fit each other, or a file that they name cannot be used.
 */
export function accessCluster(options: ClusterOptions, log?: Log): ClusterAccess | undefined {
  const { etcd, etcdPrefix, etcdKeyFile } = options
  if (etcd === undefined) return undefined
  for (const url of etcd) checkPrivate(url, options)
  checkPairs(options)
  if (etcdKeyFile === undefined)
    throw new UsageError(
      'Cannot use etcd without --etcd-key-file: the signing keys must not be readable there; make one with: (umask 077; openssl rand -hex 32 > FILE), and copy it to each node',
    )
  const files = new EtcdFiles(options, log)
  const sealer = openSealer(etcdKeyFile)
  const gateway = openGateway({ endpoints: etcd, source: files })
  return {
    gateway,
    sealer,
    keys: new ClusterKeys(etcdPrefix),
    place: `etcd at ${etcd.join(', ')}, prefix ${etcdPrefix}`,
    reload: files.reload,
    [Symbol.dispose]: () => gateway.close(),
  }
}

function checkPairs({ etcdCert, etcdKey, etcdUser, etcdPasswordFile }: ClusterOptions) {
  if ((etcdCert === undefined) !== (etcdKey === undefined))
    throw new UsageError('Cannot use only one of --etcd-cert and --etcd-key; give both or neither')
  if ((etcdUser === undefined) !== (etcdPasswordFile === undefined))
    throw new UsageError('Cannot use only one of --etcd-user and --etcd-password-file; give both or neither')
}

function checkPrivate(url: string, { etcdPlain }: ClusterOptions) {
  const { protocol, hostname } = new URL(url)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isOwn = isIP(host) === 0 ? host === 'localhost' : isLoopback(host)
  if (protocol === 'https:' || isOwn || etcdPlain) return
  throw new UsageError(
    `Cannot use --etcd "${url}": others on the network could read and change what is sent; use https:, or allow that with --etcd-plain`,
  )
}
