import type { Authenticator } from '../auth/authenticator.ts'
import { type Fault, InvalidInputError } from '../errors.ts'
import { type Reply, type Request, readJsonObject, textReply } from '../http/message.ts'
import { BEARER_CHALLENGE } from '../http/problem.ts'
import { jsonBody, plainText } from './bodies.ts'
import { defineResource } from './resource.ts'

/** Sessions of users. */
export const session = defineResource({
  handlers: ({ authenticator }) => sessionHandlers(authenticator),
  routes: [
    {
      method: 'POST',
      path: '/login',
      access: 'public',
      limits: 'same',
      summary: 'starts a session: `{"username":…,"password":…}` (or `name` for `username`)',
      answers: '200 `Authorized` and a cookie; 401 `Unauthorized`',
      operation: {
        id: 'logIn',
        tag: 'credentials',
        body: jsonBody('Login'),
        answers: {
          200: {
            description: 'The user is logged in.',
            headers: ['Set-Cookie'],
            content: plainText('Authorized'),
          },
          401: {
            description: 'User or password is wrong.',
            headers: ['WWW-Authenticate'],
            content: plainText('Unauthorized'),
          },
        },
        problems: ['too_many_attempts', 'overloaded'],
      },
      handler: 'logIn',
    },
    {
      method: 'POST',
      path: '/logout',
      // A read-only account must be able to log out; no record changes.
      access: 'read',
      limits: 'same',
      summary: 'ends the session or token that makes the call',
      answers: '200 `Success`',
      operation: {
        id: 'logOut',
        tag: 'credentials',
        notes: 'It stays ended after a restart, and nobody else is logged out.',
        answers: {
          200: {
            description: 'The session or token has ended.',
            headers: ['Set-Cookie?'],
            content: plainText('Success'),
          },
        },
        problems: ['overloaded', 'storage_unavailable', 'storage_full'],
      },
      handler: 'logOut',
    },
  ],
})

/** RFC 9110 section 15.5.2 requires it of every 401. */
const CHALLENGE = { 'WWW-Authenticate': BEARER_CHALLENGE }

export function sessionHandlers(authenticator: Authenticator) {
  return { logIn, logOut }

  async function logIn(request: Request): Promise<Reply> {
    const { username, password } = parseLogin(await readJsonObject(request))
    const cookie = await authenticator.logIn(request, username, password)
    if (cookie === undefined) return textReply(401, 'Unauthorized', CHALLENGE)
    return { ...textReply(200, 'Authorized'), cookies: [cookie] }
  }

  async function logOut(request: Request): Promise<Reply> {
    const cookies = await authenticator.logOut(request)
    return { ...textReply(200, 'Success'), cookies }
  }
}

/** Accepts `username` and `name`: existing callers use both. */
function parseLogin(input: Record<string, unknown>): { username: string; password: string } {
  const { username, name, password } = input
  const faults: Fault[] = []
  for (const [field, value] of Object.entries({ username, name, password })) {
    if (value !== undefined && typeof value !== 'string') faults.push({ field, detail: 'must be a string' })
  }
  if (username === undefined && name === undefined) faults.push({ field: 'username', detail: 'is missing' })
  if (password === undefined) faults.push({ field: 'password', detail: 'is missing' })
  if (username !== undefined && name !== undefined && username !== name) {
    faults.push({ field: 'name', detail: 'must be the same as username, or be left out' })
  }
  const user = username ?? name
  if (faults.length > 0 || typeof user !== 'string' || typeof password !== 'string') {
    throw new InvalidInputError('The login is not valid', faults)
  }
  return { username: user, password }
}
