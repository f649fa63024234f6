import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'

/** How tests reach a member with TLS; PEM texts. */
export interface ClientTls {
  readonly ca: string
  readonly cert?: string
  readonly key?: string
}

/** A key of etcd with its value, as text. */
export interface Entry {
  readonly key: string
  readonly value: string
  readonly createRevision: number
  readonly modRevision: number
  readonly version: number
  /** The id of the lease that ends it, or undefined. */
  readonly lease: string | undefined
}

/** A refusal of etcd. */
export class EtcdRefusal extends Error {
  readonly status: number

  constructor(path: string, status: number, text: string) {
    super(`etcd answers ${status} to ${path}: ${text}`)
    this.status = status
  }
}

type Json = Record<string, unknown>

/** Looks into etcd, and changes it, without the code under test: each call is one request to one member. */
export interface EtcdClient {
  /** The answer to any call of the gateway; 64-bit integers are strings, keys and values base64. */
  post(path: string, body: Json): Promise<Json>
  get(key: string): Promise<Entry | undefined>
  /** All keys that begin so, by key. @param revision An earlier state. */
  list(prefix: string, revision?: number): Promise<Entry[]>
  /** @returns The revision. */
  put(key: string, value: string): Promise<number>
  /** Removes a key. @returns The revision. */
  remove(key: string): Promise<number>
  /** Removes all keys that begin so. @returns The revision. */
  removeAll(prefix: string): Promise<number>
  /** The newest revision that a quorum has. */
  revision(): Promise<number>
  /** Forgets all states before a revision, by default the newest one; resolves once that is done. */
  compact(revision?: number): Promise<number>
  /** Gives free space back to the system. */
  defragment(): Promise<void>
  status(): Promise<{ readonly member: string; readonly leader: string; readonly dbBytes: number }>
  /** Ends all alarms, NOSPACE for example. */
  disarm(): Promise<void>
}

/** @param token Of a login; a member without authentication ignores it. */
export function createEtcdClient(url: string, tls?: ClientTls, token?: string): EtcdClient {
  const post = async (path: string, body: Json) => {
    const { status, text } = await sendRequest(url + path, {
      method: 'POST',
      body: JSON.stringify(body),
      ...(tls ? { tls } : {}),
      ...(token === undefined ? {} : { token }),
    })
    if (status !== 200) throw new EtcdRefusal(path, status, text)
    return JSON.parse(text) as Json
  }
  const range = async (body: Json) => {
    const { kvs } = await post('/v3/kv/range', body)
    return ((kvs ?? []) as Json[]).map(readEntry)
  }
  const change = async (path: string, body: Json) => revisionOf(await post(path, body))
  const revision = async () => revisionOf(await post('/v3/kv/range', { key: encode('\0'), count_only: true }))

  return {
    post,
    get: async (key) => (await range({ key: encode(key) }))[0],
    list: (prefix, at) =>
      range({ ...rangeOf(prefix), ...(at === undefined ? {} : { revision: String(at) }) }),
    put: (key, value) => change('/v3/kv/put', { key: encode(key), value: encode(value) }),
    remove: (key) => change('/v3/kv/deleterange', { key: encode(key) }),
    removeAll: (prefix) => change('/v3/kv/deleterange', rangeOf(prefix)),
    revision,
    async compact(at) {
      const before = at ?? (await revision())
      await post('/v3/kv/compaction', { revision: String(before), physical: true })
      return before
    },
    defragment: async () => void (await post('/v3/maintenance/defragment', {})),
    async status() {
      const { header, leader, dbSize } = await post('/v3/maintenance/status', {})
      const member = String((header as Json).member_id)
      return { member, leader: String(leader ?? '0'), dbBytes: Number(dbSize) }
    },
    async disarm() {
      const { alarms } = await post('/v3/maintenance/alarm', { action: 'GET' })
      // Only the alarm of a member that is named ends.
      for (const alarm of (alarms ?? []) as Json[])
        await post('/v3/maintenance/alarm', { ...alarm, action: 'DEACTIVATE' })
    },
  }
}

/** One request on a connection of its own. */
export async function sendRequest(
  url: string,
  { method = 'GET', body, tls, token }: { method?: string; body?: string; tls?: ClientTls; token?: string },
): Promise<{ readonly status: number; readonly text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const headers = token === undefined ? {} : { authorization: token }
  const options = { method, headers, agent: false, timeout: ANSWER_MS_MAX, ...tls }
  const outgoing = (url.startsWith('https:') ? requestHttps : requestHttp)(url, options, resolve)
  outgoing.on('error', reject)
  outgoing.on('timeout', () => outgoing.destroy(new Error(`no answer from ${url}`)))
  outgoing.end(body)
  const incoming = await promise
  return { status: incoming.statusCode ?? 0, text: Buffer.concat(await incoming.toArray()).toString() }
}

/** A member that is stopped or alone never answers; long, because a machine may be busy. */
const ANSWER_MS_MAX = 30_000

export function encode(text: string): string {
  return Buffer.from(text).toString('base64')
}

export function decode(base64: unknown): string {
  return Buffer.from(typeof base64 === 'string' ? base64 : '', 'base64').toString()
}

/** etcd leaves out what is zero or empty. */
export function readEntry({ key, value, create_revision, mod_revision, version, lease }: Json): Entry {
  return {
    key: decode(key),
    value: decode(value),
    createRevision: Number(create_revision ?? 0),
    modRevision: Number(mod_revision ?? 0),
    version: Number(version ?? 0),
    lease: lease === undefined ? undefined : String(lease),
  }
}

/** The members of a request for all keys that begin so. */
export function rangeOf(prefix: string): { readonly key: string; readonly range_end: string } {
  const end = Buffer.from(prefix)
  const last = end.length - 1
  end[last] = (end[last] ?? 0) + 1
  return { key: encode(prefix), range_end: end.toString('base64') }
}

function revisionOf({ header }: Json): number {
  return Number((header as Json).revision)
}
