import type { LogFormat, LogLevel } from '../log.ts'
import type { Network } from '../server/proxy-trust.ts'

/** What can be set of a server, parsed. */
export interface ServerOptions {
  readonly port: number
  /** Undefined: every address, IPv6 and IPv4. */
  readonly host: string | undefined
  /** Path of a Unix socket to listen on instead. */
  readonly listen: string | undefined
  readonly data: string
  /** Empty, or `/like/this`. */
  readonly basePath: string
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
  /** Undefined: no proxy is believed. */
  readonly trustProxy: readonly Network[] | undefined
  readonly sessionTtlSeconds: number
  readonly tokenTtlSeconds: number
  /** Undefined: text on a terminal, JSON otherwise. */
  readonly logFormat: LogFormat | undefined
  readonly logLevel: LogLevel
  readonly accessLog: boolean
  readonly metricsPublic: boolean
  readonly shutdownTimeoutSeconds: number
}
