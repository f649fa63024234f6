import { type Call, callEndpoint } from './call.ts'
import type { Endpoint } from './endpoint.ts'
import { OtherAnswerError, RefusedError, refusalOf } from './refused.ts'

const UNAUTHORIZED = 401

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
