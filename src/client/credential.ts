import { ownerHeaders } from '../http/header-fields.ts'
import type { Scope } from '../http/scope.ts'
import { isObject, parseJson } from '../json.ts'
import { wordForShell } from '../shell.ts'
import type { CommandActor } from '../store/authorship.ts'
import { callEndpoint } from './call.ts'
import type { Endpoint } from './endpoint.ts'
import type { Call } from './messages.ts'
import { callPatiently, OtherAnswerError, RefusedError, refusalOf, tokenRefusalOf } from './refused.ts'

const UNAUTHORIZED = 401

/** A younger token that is refused has not expired. */
const TOKEN_AGE_MS_MIN = 10_000

/** By which a client says who calls. */
export interface Credential {
  /** The headers of a call; may ask the server for a token first, until the signal ends that. */
  headers(endpoint: Endpoint, signal?: AbortSignal): Promise<Readonly<Record<string, string>>>
  /** After the server has refused it: whether the next call has a new one. */
  renew(): boolean
  /** Whether it must be kept from readers of the network. */
  readonly isSecret: boolean
  /** What to say when the server does not know it; without this, the server's own words. */
  readonly remedy?: (endpoint: Endpoint) => string
}

/** @param hint Ends what is said when the server lets nobody in without a credential. */
export function noCredential(hint = ''): Credential {
  return {
    headers: async () => ({}),
    renew: () => false,
    isSecret: false,
    remedy: ({ name, remedy }) =>
      [
        `Not let in at ${name} without a login: connbook login ${wordForShell(name)}${hint}`,
        ...(remedy === undefined ? [] : [remedy]),
      ].join('; '),
  }
}

/** On the owner's socket. @param actor Whom the audit trail names. */
export function ownerCredential({ by, command, via }: CommandActor): Credential {
  const headers = {
    ...(via === undefined ? {} : { [ownerHeaders.claimed]: encodeURIComponent(via.claimed) }),
    [ownerHeaders.account]: encodeURIComponent(by),
    [ownerHeaders.command]: encodeURIComponent(command),
  }
  return { headers: async () => headers, renew: () => false, isSecret: false }
}

export function tokenCredential(token: string): Credential {
  return { headers: async () => ({ Authorization: `Bearer ${token}` }), renew: () => false, isSecret: true }
}

/** @param cookie `NAME=VALUE`, as the login gave it. */
export function sessionCredential(cookie: string): Credential {
  return {
    headers: async () => ({ Cookie: cookie }),
    renew: () => false,
    isSecret: true,
    remedy: ({ name }) =>
      `The login at ${name} has ended; log in again: connbook login ${wordForShell(name)}`,
  }
}

/**
 * Gets a token at the first call, and another one when the server no longer takes it.
 *
 * @param isPatient As in `Client`, of the call that gets a token.
 * @param scope What its tokens must be good for; if it is absent, what the server gives.
 * @param now In milliseconds, from any start.
 */
export function clientCredential(
  id: string,
  secret: string,
  isPatient: boolean,
  { scope, now = () => performance.now() }: { readonly scope?: Scope | undefined; now?: () => number } = {},
): Credential {
  let token: Promise<string> | undefined
  let askedAt = 0
  return {
    isSecret: true,
    async headers(endpoint, signal) {
      if (token === undefined) {
        token = getToken(endpoint, { client_id: id, client_secret: secret, scope }, isPatient, signal)
        askedAt = now()
      }
      try {
        return { Authorization: `Bearer ${await token}` }
      } catch (error) {
        // The next call asks again.
        token = undefined
        throw error
      }
    },
    renew() {
      // A token that is refused as soon as it was given would be asked for without end.
      if (now() < askedAt + TOKEN_AGE_MS_MIN) return false
      token = undefined
      return true
    },
  }
}

async function getToken(
  endpoint: Endpoint,
  wanted: { readonly client_id: string; readonly client_secret: string; readonly scope: Scope | undefined },
  isPatient: boolean,
  signal: AbortSignal | undefined,
): Promise<string> {
  const body = [Buffer.from(JSON.stringify(wanted))]
  const headers = { 'Content-Type': 'application/json' }
  const call = { method: 'POST', path: '/v1/auth/token', headers, body } as const
  const ask = () => callEndpoint(endpoint, call, signal === undefined ? {} : { signal })
  const answer = await (isPatient ? callPatiently(ask, signal) : ask())
  if (answer.status !== 200) throw tokenRefusalOf(answer, endpoint)
  const granted = parseJson(answer.text)
  if (isObject(granted) && typeof granted.access_token === 'string') return granted.access_token
  throw new OtherAnswerError(`${endpoint.name} gives no token; is it a connbook?`)
}

/**
 * Begins a session.
 *
 * @returns Its cookie, as `NAME=VALUE`.
 * @throws {RefusedError} 401 if user or password is wrong, 429 after too many tries. Also throws as `callEndpoint` does.
 * @throws {OtherAnswerError} if it gives no cookie.
 */
export async function logIn(endpoint: Endpoint, username: string, password: string): Promise<string> {
  const call: Call = {
    method: 'POST',
    path: '/login',
    headers: { 'Content-Type': 'application/json' },
    body: [Buffer.from(JSON.stringify({ username, password }))],
  }
  // No patience: the pause after wrong passwords is long.
  const answer = await callEndpoint(endpoint, call)
  if (answer.status === UNAUTHORIZED)
    throw new RefusedError(`Not logged in at ${endpoint.name}: user or password is wrong`, {
      status: UNAUTHORIZED,
    })
  if (answer.status < 200 || answer.status >= 300) throw refusalOf(answer, endpoint)
  const [cookie] = answer.headers['set-cookie']?.[0]?.split(';') ?? []
  if (cookie !== undefined && /^[^=\s]+=\S+$/.test(cookie)) return cookie
  throw new OtherAnswerError(`${endpoint.name} begins no session; is it a connbook?`)
}

/** Ends a session. Throws as `logIn` does; a session that has ended already is not an error. */
export async function logOut(endpoint: Endpoint, cookie: string): Promise<void> {
  const answer = await callEndpoint(endpoint, {
    method: 'POST',
    path: '/logout',
    headers: { Cookie: cookie },
  })
  if (answer.status !== 200 && answer.status !== 403) throw refusalOf(answer, endpoint)
}
