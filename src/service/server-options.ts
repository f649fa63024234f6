import { logLevels } from '../log-events.ts'
import { clusterOptionSpecs } from './cluster-options.ts'
import {
  type OptionSpec,
  type ParsedOptions,
  parseBasePath,
  parseDuration,
  parseHost,
  parseListen,
  parseNetworks,
  parsePath,
  parsePort,
  parsePublicUrl,
  parseSize,
} from './option-values.ts'

const logFormats = ['text', 'json'] as const

export const serverOptionSpecs = {
  port: {
    flag: '--port',
    placeholder: 'PORT',
    help: 'port to listen on; 0 means any free port',
    default: '8080',
    lastVariable: 'PORT',
    parse: parsePort,
  },
  /** Undefined: every address, IPv6 and IPv4. */
  host: {
    flag: '--host',
    placeholder: 'ADDRESS',
    help: 'address to listen on; of a name, each that this host has',
    otherwise: 'every address, IPv6 and IPv4',
    parse: parseHost,
  },
  /** Path of a Unix socket to listen on instead. */
  listen: {
    flag: '--listen',
    placeholder: 'unix:PATH',
    help: 'Unix socket to listen on, instead of an address',
    parse: parseListen,
  },
  data: {
    flag: '--data',
    placeholder: 'FOLDER',
    help: 'folder of all data; if it is missing, the server and restore make it, and commands that add do if it is named; never the folder above',
    default: './data',
    parse: parsePath,
  },
  existing: {
    flag: '--existing',
    help: 'start only in a folder in which a server has started before',
    otherwise: 'off',
  },
  /** Empty, or `/like/this`. */
  basePath: {
    flag: '--base-path',
    placeholder: 'PATH',
    help: 'path that every URL begins with, behind a proxy that passes it on',
    default: '/',
    parse: parseBasePath,
  },
  /** Without a slash at the end. Undefined: as each request says. */
  publicUrl: {
    flag: '--public-url',
    placeholder: 'URL',
    help: 'URL by which clients reach the server, base path included, for the metadata of OAuth',
    otherwise: 'by the header Host of each request',
    parse: parsePublicUrl,
  },
  tlsCert: {
    flag: '--tls-cert',
    placeholder: 'FILE',
    help: 'certificate chain (PEM), for HTTPS; read again at SIGHUP',
    parse: parsePath,
  },
  tlsKey: {
    flag: '--tls-key',
    placeholder: 'FILE',
    help: 'private key (PEM) of the certificate; only its owner may read it (0600)',
    parse: parsePath,
  },
  /** Undefined: no proxy is believed. */
  trustProxy: {
    flag: '--trust-proxy',
    placeholder: 'ADDRESS/BITS',
    help: 'trust X-Forwarded-For, -Proto and -Host from this address, or from callers on a Unix socket (unix); may be repeated',
    isRepeatable: true,
    parse: parseNetworks,
  },
  sessionTtlSeconds: {
    flag: '--session-ttl',
    placeholder: 'TIME',
    help: 'how long a login lasts',
    default: '12h',
    parse: parseDuration,
  },
  tokenTtlSeconds: {
    flag: '--token-ttl',
    placeholder: 'TIME',
    help: 'how long an access token lasts',
    default: '3600s',
    parse: parseDuration,
  },
  /** Undefined: text on a terminal, JSON otherwise. */
  logFormat: {
    flag: '--log-format',
    placeholder: 'text|json',
    help: 'form of the log',
    otherwise: 'text on a terminal, else json',
    choices: logFormats,
  },
  logLevel: {
    flag: '--log-level',
    placeholder: 'LEVEL',
    help: 'lowest level to log: debug, info, warn, error',
    default: 'info',
    choices: logLevels,
  },
  /** For all files of the audit trail together. */
  auditKeepBytes: {
    flag: '--audit-keep',
    placeholder: 'SIZE',
    help: 'room for the audit trail; when it is full, the oldest lines go',
    default: '80M',
    parse: parseSize,
  },
  accessLog: { flag: '--access-log', help: 'log every request', otherwise: 'off' },
  metricsPublic: {
    flag: '--metrics-public',
    help: 'show /metrics to everybody, without a credential',
    otherwise: 'off',
  },
  noConsole: {
    flag: '--no-console',
    help: 'leave out the page for browsers, /console/',
    otherwise: 'off',
  },
  shutdownTimeoutSeconds: {
    flag: '--shutdown-timeout',
    placeholder: 'TIME',
    help: 'how long a stop waits for requests that have begun',
    default: '10s',
    parse: parseDuration,
  },
  ...clusterOptionSpecs,
} satisfies Record<string, OptionSpec>

/** What can be set of a server, parsed. */
export type ServerOptions = ParsedOptions<typeof serverOptionSpecs>
