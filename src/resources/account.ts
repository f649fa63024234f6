import type { Authenticator } from '../auth/authenticator.ts'
import { faultOfChosen } from '../auth/secret.ts'
import { type Fault, InvalidInputError } from '../errors.ts'
import { jsonReply, type Reply, type Request, readJsonObject, textReply } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { json, jsonBody, plainText } from './bodies.ts'
import { defineResource } from './resource.ts'

/** What callers may see and do about their own account. */
export const account = defineResource({
  handlers: ({ authenticator }) => accountHandlers(authenticator),
  routes: [
    {
      method: 'GET',
      path: '/v1/whoami',
      access: 'read',
      limits: 'same',
      summary: 'says whose credential makes the call, what it may do, and when it expires',
      answers: '200 `{"account":…,"kind":"user","scope":"read write","expires_at":…}`',
      operation: {
        id: 'getCaller',
        tag: 'credentials',
        answers: { 200: { description: 'The account and its credential.', content: json('Caller') } },
      },
      handler: 'whoAmI',
    },
    {
      method: 'POST',
      path: '/v1/password',
      // A read-only user may change the password, too; no record changes.
      access: 'read',
      limits: 'same',
      summary:
        'gives the user of the session a new password: `{"password":…,"new_password":…}`; ends the other sessions',
      answers: '200 `Success` and a new cookie; 400',
      operation: {
        id: 'changePassword',
        tag: 'credentials',
        body: jsonBody('PasswordChange'),
        answers: {
          200: {
            description: 'The password is changed.',
            headers: ['Set-Cookie'],
            content: plainText('Success'),
          },
        },
        problems: [
          'wrong_password',
          'session_required',
          'too_many_attempts',
          'overloaded',
          'storage_unavailable',
          'storage_full',
        ],
      },
      handler: 'changePassword',
    },
  ],
})

/** What callers may see and do about their own account. */
export function accountHandlers(authenticator: Authenticator) {
  return { whoAmI, changePassword }

  function whoAmI(request: Request): Reply {
    const { principal, expiresAt } = credentialOf(request)
    const { name, kind, scope, grants } = principal
    const expires = expiresAt === undefined ? {} : { expires_at: new Date(expiresAt * 1000).toISOString() }
    return jsonReply(200, { account: name, kind, scope, ...(grants && { grants }), ...expires })
  }

  async function changePassword(request: Request): Promise<Reply> {
    const { carrier, principal } = credentialOf(request)
    if (carrier !== 'cookie') {
      const message = 'Only a session can change the password of its user; log in at /login'
      throw new Problem('session_required', message)
    }
    const { password, newPassword } = parseChange(await readJsonObject(request), principal.name)
    const outcome = await authenticator.changePassword(request, password, newPassword)
    if (outcome === 'wrong_password')
      throw new Problem('wrong_password', 'The current password is wrong; nothing has changed')
    if (outcome !== 'session_ended') return { ...textReply(200, 'Success'), cookies: [outcome.cookie] }
    request.checkAgain?.()
    throw new Error('A session that has ended is still good')
  }
}

function credentialOf({ credential }: Request) {
  if (credential === undefined) throw new Error('A protected route was reached without a credential')
  return credential
}

/** @param user Whose password it is. */
function parseChange(input: Record<string, unknown>, user: string) {
  const { password, new_password: newPassword } = input
  const faults: Fault[] = []
  for (const [field, value] of Object.entries({ password, new_password: newPassword })) {
    if (value === undefined) faults.push({ field, detail: 'is missing' })
    else if (typeof value !== 'string') faults.push({ field, detail: 'must be a string' })
    else if (field === 'new_password') {
      const detail = faultOfNew(value, user)
      if (detail !== undefined) faults.push({ field, detail })
    }
  }
  if (faults.length > 0 || typeof password !== 'string' || typeof newPassword !== 'string') {
    throw new InvalidInputError('The change of the password is not valid', faults)
  }
  return { password, newPassword }
}

function faultOfNew(password: string, user: string): string | undefined {
  if (!password.isWellFormed()) return 'must be valid Unicode'
  return faultOfChosen('user', password, user)
}
