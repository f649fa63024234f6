import type { Authenticator } from '../auth/authenticator.ts'
import { jsonReply, type Reply, type Request, textReply } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { parseScope } from '../http/scope.ts'
import { invalidRequest, readClientRequest } from './client-request.ts'

export function tokenHandlers(authenticator: Authenticator) {
  return { issue, revoke }

  /** The client credentials grant (RFC 6749 section 4.4), and a plain JSON call. */
  async function issue(request: Request): Promise<Reply> {
    const { parameters, spellings, refusal } = await readClientRequest(request, ['grant_type', 'scope'])
    checkGrantType(parameters.get('grant_type'))
    const readings = spellings()
    const wanted = parameters.get('scope')
    const scope = wanted === undefined || wanted === '' ? undefined : parseScope(wanted)
    const token = await authenticator.issueToken(request, readings, scope)
    if (token === undefined) throw refusal()
    return jsonReply(200, token, { Pragma: 'no-cache' })
  }

  /** Ends a token of the client (RFC 7009 section 2.1); says nothing about any other. */
  async function revoke(request: Request): Promise<Reply> {
    const { parameters, spellings, refusal } = await readClientRequest(request, ['token', 'token_type_hint'])
    const readings = spellings()
    const token = parameters.get('token')
    if (token === undefined || token === '') throw invalidRequest('token is missing')
    if (!(await authenticator.revokeToken(request, readings, token))) throw refusal()
    return textReply(200, '', { Pragma: 'no-cache' })
  }
}

function checkGrantType(grantType: string | undefined) {
  if (grantType === undefined || grantType === 'client_credentials') return
  throw new Problem('unsupported_grant_type', 'grant_type must be client_credentials, or be left out')
}
