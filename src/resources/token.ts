import type { Authenticator } from '../auth/authenticator.ts'
import { jsonReply, type Reply, type Request, textReply } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { parseScope } from '../http/scope.ts'
import { BODY_BYTES_MAX } from '../limits.ts'
import type { Body } from '../openapi/operation.ts'
import { refTo } from '../openapi/schemas.ts'
import { json } from './bodies.ts'
import { invalidRequest, oauthReply, readClientRequest } from './client-request.ts'
import { defineResource } from './resource.ts'

const tokenBody: Body = {
  content: {
    'application/json': refTo('TokenRequest'),
    'application/x-www-form-urlencoded': refTo('TokenRequest'),
  },
  bytesMax: BODY_BYTES_MAX,
}

const revocationBody: Body = {
  content: {
    'application/json': refTo('RevocationRequest'),
    'application/x-www-form-urlencoded': refTo('RevocationRequest'),
  },
  bytesMax: BODY_BYTES_MAX,
}

/** Tokens of clients. */
export const token = defineResource({
  handlers: ({ authenticator }) => tokenHandlers(authenticator),
  routes: [
    {
      method: 'POST',
      path: '/v1/auth/token',
      access: 'public',
      summary: 'issues a token: `{"client_id":…,"client_secret":…}`, as JSON, as a form, or by HTTP Basic',
      answers: '200 `{"access_token":…,"token_type":"Bearer","expires_in":3600,"scope":"read write"}`; 401',
      operation: {
        id: 'issueToken',
        tag: 'credentials',
        notes: 'The client credentials grant of OAuth 2.0 (RFC 6749 section 4.4).',
        body: tokenBody,
        answers: { 200: { description: 'A token.', headers: ['Pragma'], content: json('Token') } },
        problems: [
          'invalid_request',
          'invalid_scope',
          'unsupported_grant_type',
          'invalid_client',
          'too_many_attempts',
          'overloaded',
        ],
      },
      handler: 'issue',
      problemReply: oauthReply,
    },
    {
      method: 'POST',
      path: '/v1/auth/revoke',
      access: 'public',
      summary:
        'ends a token of the client that calls: `{"client_id":…,"client_secret":…,"token":…}`, sent as for a token',
      answers: '200, no body; 401',
      operation: {
        id: 'revokeToken',
        tag: 'credentials',
        notes: 'RFC 7009. A token that is unknown, of another client or ended already is answered alike.',
        body: revocationBody,
        answers: { 200: { description: 'The token is not valid any more.', headers: ['Pragma'] } },
        problems: [
          'invalid_request',
          'invalid_client',
          'too_many_attempts',
          'overloaded',
          'storage_unavailable',
          'storage_full',
        ],
      },
      handler: 'revoke',
      problemReply: oauthReply,
    },
  ],
})

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
