import type { Authenticator } from '../auth/authenticator.ts'
import { type Fault, InvalidInputError } from '../errors.ts'
import { BEARER_CHALLENGE } from '../http/challenge.ts'
import { type Reply, type Request, readJsonObject, textReply } from '../http/message.ts'

/** RFC 9110 section 15.5.2 requires it of every 401. */
const CHALLENGE = { 'WWW-Authenticate': BEARER_CHALLENGE }

export function sessionHandlers(authenticator: Authenticator) {
  return { logIn, logOut }

  async function logIn(request: Request): Promise<Reply> {
    const { username, password } = parseLogin(await readJsonObject(request))
    const cookie = await authenticator.logIn(request, username, password)
    if (cookie === undefined) return textReply(401, 'Unauthorized', CHALLENGE)
    return textReply(200, 'Authorized', { 'Set-Cookie': cookie })
  }

  async function logOut(request: Request): Promise<Reply> {
    const cookie = await authenticator.logOut(request)
    return textReply(200, 'Success', cookie === undefined ? {} : { 'Set-Cookie': cookie })
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
