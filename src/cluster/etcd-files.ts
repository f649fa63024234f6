import { isDeepStrictEqual } from 'node:util'
import { bareLine } from '../auth/secret.ts'
import { ConnbookError } from '../errors.ts'
import { readNamedFile } from '../files/named-file.ts'
import { PEM_FILE_BYTES_MAX } from '../limits.ts'
import type { Log } from '../log.ts'
import type { EtcdPass, PassSource } from './gateway.ts'
import { openTls } from './http-client.ts'

/** Longest file with a password. */
const SECRET_FILE_BYTES_MAX = 4096

/** The options that say how etcd lets a node in. */
export interface EtcdFileOptions {
  readonly etcdCa: string | undefined
  readonly etcdCert: string | undefined
  readonly etcdKey: string | undefined
  readonly etcdUser: string | undefined
  readonly etcdPasswordFile: string | undefined
}

/** The files by which a node and etcd know each other. They may be renewed while the node runs. */
export class EtcdFiles implements PassSource {
  readonly #options: EtcdFileOptions
  readonly #log: Log | undefined
  #pass: EtcdPass
  #toldReason: string | undefined

  /**
   * @param log Hears of files that were read again; undefined for a command, which reads them once.
   * @throws {UsageError} {KeyExposedError} if a file cannot be used.
   */
  constructor(options: EtcdFileOptions, log: Log | undefined) {
    this.#options = options
    this.#log = log
    this.#pass = readPass(options)
  }

  /** What was read last. */
  get pass(): EtcdPass {
    return this.#pass
  }

  /** Paths, in the order of the options. */
  get paths(): readonly string[] {
    const { etcdCa, etcdCert, etcdKey, etcdPasswordFile } = this.#options
    return [etcdCa, etcdCert, etcdKey, etcdPasswordFile].filter((path) => path !== undefined)
  }

  /**
   * Reads all files again, and says so in the log. What cannot be used is logged, too, and changes nothing. Undefined if
   * there are no files.
   */
  get reload(): (() => void) | undefined {
    if (this.paths.length === 0) return undefined
    return () => {
      this.#toldReason = undefined
      this.#readAgain(() => true)
    }
  }

  /** The same after a refusal of etcd, when a file may have been renewed: says nothing of files that are as before. */
  renew(): void {
    this.#readAgain((next) => !isDeepStrictEqual(next, this.#pass))
  }

  #readAgain(isNews: (next: EtcdPass) => boolean): void {
    const log = this.#log
    if (log === undefined) return
    const files = { files: this.paths.join(', ') }
    try {
      const next = readPass(this.#options)
      this.#toldReason = undefined
      if (!isNews(next)) return
      this.#pass = next
      log.info('cluster_files_reloaded', files)
    } catch (error) {
      // An unforeseen error must not end the server either.
      const reason = error instanceof ConnbookError ? error.message : String(error)
      if (reason !== this.#toldReason)
        log.error('cluster_files_reload_failed', {
          ...files,
          reason,
          in_force: 'what was read before',
        })
      this.#toldReason = reason
    }
  }
}

function readPass({ etcdCa, etcdCert, etcdKey, etcdUser, etcdPasswordFile }: EtcdFileOptions): EtcdPass {
  const tls = {
    ca: pemOf('--etcd-ca', etcdCa, false),
    certificate: pemOf('--etcd-cert', etcdCert, false),
    key: pemOf('--etcd-key', etcdKey, true),
    paths: { ca: etcdCa, certificate: etcdCert },
  }
  // While a file is replaced, one may not fit the other.
  openTls(tls)
  if (etcdUser === undefined || etcdPasswordFile === undefined) return { tls, login: undefined }
  return { tls, login: { user: etcdUser, password: readPassword(etcdPasswordFile), file: etcdPasswordFile } }
}

function pemOf(flag: string, path: string | undefined, isSecret: boolean): string | undefined {
  if (path === undefined) return undefined
  return readNamedFile({ flag, path, kind: 'PEM file', bytesMax: PEM_FILE_BYTES_MAX }, { isSecret })
}

function readPassword(path: string): string {
  const file = {
    flag: '--etcd-password-file',
    path,
    kind: 'file with the password',
    bytesMax: SECRET_FILE_BYTES_MAX,
  }
  return bareLine(readNamedFile(file, { isSecret: true }))
}
