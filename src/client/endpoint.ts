import { isIP } from 'node:net'
import { UsageError } from '../errors.ts'
import { type FileSystem, realFileSystem } from '../files/file-system.ts'
import { isLoopback } from '../network.ts'
import type { Call, CallOptions, OpenResponse } from './messages.ts'

/** The variables of the environment that a client reads; the secret also as a file. */
export const clientVariables = {
  server: 'CONNBOOK_SERVER',
  authority: 'CONNBOOK_CA',
  token: 'CONNBOOK_TOKEN',
  clientId: 'CONNBOOK_LOGIN_CLIENT_ID',
  clientSecret: 'CONNBOOK_LOGIN_CLIENT_SECRET',
  completionMs: 'CONNBOOK_COMPLETION_MS',
} as const

const LIST = '/configurations/'
/** The path of keys and values of labels. */
export const LABELS = '/v1/labels'

/** The address of a server. */
export interface Endpoint {
  /** For messages and as the key of a login: a URL without a slash at its end, or `unix:PATH`. */
  readonly name: string
  readonly isSecure: boolean
  /** For messages of what was done: `at` and its name, or `in` and its folder. */
  readonly where: string
  /** The data folder that is called; undefined for a server that is named otherwise. */
  readonly folder?: string
  /** The value of the header `Host`. */
  readonly host: string
  readonly at: { readonly socketPath: string } | { readonly hostname: string; readonly port: number }
  /** Calls it otherwise than by HTTP alone; throws as `openCall` does, and what else it says. */
  readonly exchange?: (call: Call, options: CallOptions) => Promise<OpenResponse>
  /** How a socket is reached. */
  readonly reach?: FileSystem['reach']
  /** Before each path; empty or `/like/this`. */
  readonly basePath: string
  /** Completes the message that it cannot be reached, or lets nobody in without a login. */
  readonly remedy?: string
  /** The variable that names a proxy for it, which connbook does not use. */
  readonly unusedProxy?: string | undefined
  /** PEM texts of certificate authorities to trust, beside those of the system and of Node. */
  readonly authorities: readonly string[]
}

/** Where a server listens that was started without flags. */
export const DEFAULT_URL = 'http://localhost:8080'

/** Completes "it must be". */
export const ENDPOINT_FORMS = 'a URL such as https://book.example.net, or unix:PATH'

const LOCALHOST = /^(?:.+\.)?localhost$/

/** Ends the address of the console, as a browser shows it. */
const CONSOLE = /\/console\/(?:[?#].*)?$/

/**
 * Reads `http://…`, `https://…` or `unix:PATH`; undefined for anything else, also with a user, a query or a fragment.
 * The address of the console, up to its slash, stands for its server.
 */
export function parseEndpoint(text: string): Endpoint | undefined {
  const socketPath = /^unix:([^\0]+)$/.exec(text)?.[1]
  if (socketPath !== undefined) return socketEndpoint(socketPath)
  const address = text.replace(CONSOLE, '/')
  const url = /^https?:\/\/[^/?#@\\\s]+(?:\/[^?#\\\s]*)?$/i.test(address) ? URL.parse(address) : null
  if (url === null) return undefined
  const isSecure = url.protocol === 'https:'
  const name = url.href.replace(/\/+$/, '')
  return {
    name,
    where: `at ${name}`,
    isSecure,
    host: url.host,
    at: {
      hostname: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port) || (isSecure ? 443 : 80),
    },
    basePath: url.pathname.replace(/\/+$/, ''),
    authorities: [],
  }
}

/** The URL that a text without a scheme, such as `localhost:8080`, may stand for; undefined for any other text. */
export function urlMeant(text: string): string | undefined {
  if (text.includes('://') || text.startsWith('unix:')) return undefined
  const endpoint = parseEndpoint(`http://${text}`)
  return endpoint !== undefined && isPrivate(endpoint)
    ? endpoint.name
    : parseEndpoint(`https://${text}`)?.name
}

/**
 * A server on a Unix socket.
 *
 * @param files Those of its folder.
 */
export function socketEndpoint(socketPath: string, files: FileSystem = realFileSystem): Endpoint {
  return {
    name: `unix:${socketPath}`,
    where: `at unix:${socketPath}`,
    isSecure: false,
    host: 'localhost',
    at: { socketPath },
    reach: files.reach,
    basePath: '',
    authorities: [],
  }
}

/** Whether nobody on a network can read what is sent there. */
export function isPrivate({ isSecure, at }: Endpoint): boolean {
  return isSecure || 'socketPath' in at || isOfThisMachine(at.hostname)
}

/** Whether a host name or an address is of this machine alone. */
export function isOfThisMachine(hostname: string): boolean {
  return isIP(hostname) === 0 ? LOCALHOST.test(hostname) : isLoopback(hostname)
}

/** What a list or a stream of events keeps, and in which order; a list is repeated in the query. */
export type QueryValues = Readonly<Record<string, string | number | readonly string[] | undefined>>

/** The path of the list of records. @param more Further parameters, as `queryOf` takes them. */
export function listPath(values: QueryValues = {}, more: QueryPairs = []): string {
  return LIST + queryOf(values, more)
}

/** The path of the record with a name. @throws {UsageError} for an empty one. */
export function recordPath(name: string): string {
  // It would be the path of the list.
  if (name === '') throw new UsageError('The name of a record cannot be empty; give its name')
  return LIST + encodeURIComponent(name)
}

/** Parameters in their order, decoded. */
type QueryPairs = readonly (readonly [name: string, value: string])[]

/** With its question mark; '' without values. */
export function queryOf(values: QueryValues, more: QueryPairs = []): string {
  const all = Object.entries(values).flatMap(([key, value = []]) =>
    [value].flat().map((each) => [key, each] as const),
  )
  const pairs = [...all, ...more].map(
    ([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`,
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}
