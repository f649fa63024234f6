import type { Authenticator } from '../auth/authenticator.ts'
import type { ClientCredentials } from '../auth/secret-checks.ts'
import { trimBlanks } from '../http/header-fields.ts'
import {
  checkBodyType,
  decodeUtf8,
  isJsonType,
  jsonReply,
  type Reply,
  type Request,
  textReply,
} from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { parseScope } from '../http/scope.ts'
import { decodeForm, parseForm } from '../http/url.ts'
import { isObject, parseJson } from '../json.ts'
import { BODY_BYTES_MAX } from '../limits.ts'
import type { Body } from '../openapi/operation.ts'
import { refTo } from '../openapi/schemas.ts'
import { json } from './bodies.ts'
import { defineResource } from './resource.ts'

const FORM_TYPE = 'application/x-www-form-urlencoded'

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
      limits: 'same',
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
      limits: 'same',
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

export function tokenHandlers(authenticator: Pick<Authenticator, 'issueToken' | 'revokeToken'>) {
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

/** A request of a client, as the OAuth endpoints take it. */
interface ClientRequest<Name extends string> {
  /** Those that are given and not empty. */
  readonly parameters: ReadonlyMap<Name | 'client_id' | 'client_secret', string>
  /** The readings of id and secret, the likeliest first. */
  readonly spellings: () => ClientCredentials[]
  /** The answer to a client that is unknown, or has a wrong secret: 401. */
  readonly refusal: () => Problem
}

/**
 * Reads a request with client credentials in a JSON object, in a form, or by HTTP Basic (RFC 6749 section 2.3.1).
 *
 * @param names The parameters that it may have besides.
 * @throws {Problem} 400, 413 or 415 for a body or an `Authorization` header that is malformed.
 */
async function readClientRequest<Name extends string>(
  request: Request,
  names: readonly Name[],
): Promise<ClientRequest<Name>> {
  const body = await request.readBody()
  const parameters = parseParameters(request, body, ['client_id', 'client_secret', ...names])
  const basic = parseBasic(request.headers.authorization)
  return {
    parameters,
    spellings: () => (basic === undefined ? [fromBody(parameters)] : spellingsOf(basic, parameters)),
    refusal() {
      const headers: Record<string, string> =
        basic === undefined ? {} : { 'WWW-Authenticate': 'Basic realm="connbook"' }
      return new Problem('invalid_client', 'The client is unknown or its secret is wrong', { headers })
    },
  }
}

/** An error reply as in RFC 6749 section 5.2, limited to the characters that it allows. */
export function oauthReply(problem: Problem): Reply {
  const description = problem.message.replaceAll('"', "'").replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?')
  const body = { error: oauthError(problem), error_description: description }
  return jsonReply(problem.status, body, { Pragma: 'no-cache', ...problem.headers })
}

function oauthError({ status, code }: Problem): string {
  if (['unsupported_grant_type', 'invalid_client', 'invalid_scope'].includes(code)) return code
  if (status === 429 || status === 503) return 'temporarily_unavailable'
  return status < 500 ? 'invalid_request' : 'server_error'
}

function invalidRequest(message: string): Problem {
  return new Problem('invalid_request', message)
}

/** Undefined for other schemes. @throws {Problem} 400 for malformed Basic credentials. */
function parseBasic(authorization: string | undefined): ClientCredentials | undefined {
  if (authorization === undefined || !/^basic( |$)/i.test(authorization)) return undefined
  const encoded = trimBlanks(authorization.slice('basic'.length))
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(encoded)
  const decoded = isBase64 ? decodeUtf8OrFail(Buffer.from(encoded, 'base64')) : ''
  const colon = decoded.indexOf(':')
  if (colon === -1) throw invalidRequest('The Authorization header holds no Basic credentials')
  return { id: decoded.slice(0, colon), secret: decoded.slice(colon + 1) }
}

function decodeUtf8OrFail(bytes: Buffer): string {
  try {
    return decodeUtf8(bytes)
  } catch {
    throw invalidRequest('The Basic credentials are not valid UTF-8')
  }
}

/** Parameters from a JSON object or a form, told apart by type and first character; none from an empty body. */
function parseParameters<Name extends string>(
  request: Request,
  body: Buffer,
  names: readonly Name[],
): Map<Name, string> {
  if (body.length === 0) return new Map()
  const type = checkBodyType(request, [FORM_TYPE, 'text/plain'])
  const text = decodeUtf8(body)
  const isForm = type?.essence === FORM_TYPE && !text.trimStart().startsWith('{')
  return isForm
    ? parseFormParameters(text, names)
    : parseJsonParameters(text, names, type !== undefined && isJsonType(type))
}

/** Ignores empty parameters (RFC 6749 section 3.2). */
function parseFormParameters<Name extends string>(text: string, names: readonly Name[]): Map<Name, string> {
  const pairs = parseForm(text)
  if (pairs === undefined) throw invalidRequest('The form is not valid percent-encoded UTF-8')
  const parameters = new Map<string, string>()
  for (const [name, value] of pairs) {
    if (parameters.has(name)) throw invalidRequest(`The parameter ${name} is given twice`)
    parameters.set(name, value)
  }
  return new Map(
    names.flatMap((name) => {
      const value = parameters.get(name) ?? ''
      return value === '' ? [] : [[name, value]]
    }),
  )
}

function parseJsonParameters<Name extends string>(
  text: string,
  names: readonly Name[],
  isJson: boolean,
): Map<Name, string> {
  const input = parseJson(text)
  if (input === undefined && !isJson) {
    throw new Problem('unsupported_type', `Send JSON, or a form with Content-Type ${FORM_TYPE}`)
  }
  if (!isObject(input)) throw invalidRequest('The body must be a JSON object')
  const parameters = new Map<Name, string>()
  for (const name of names) {
    const value = Object.hasOwn(input, name) ? input[name] : undefined
    if (value === undefined) continue
    if (typeof value !== 'string') throw invalidRequest(`${name} must be a string`)
    parameters.set(name, value)
  }
  return parameters
}

function fromBody(parameters: ReadonlyMap<string, string>): ClientCredentials {
  const id = parameters.get('client_id')
  const secret = parameters.get('client_secret')
  if (id === undefined) throw invalidRequest('client_id is missing')
  if (secret === undefined) throw invalidRequest('client_secret is missing')
  return { id, secret }
}

/** Clients may form-encode Basic credentials (RFC 6749 section 2.3.1) or not; returns both readings. */
function spellingsOf(basic: ClientCredentials, parameters: ReadonlyMap<string, string>): ClientCredentials[] {
  if (parameters.has('client_secret'))
    throw invalidRequest('client_secret goes in Authorization or in the body, not in both')
  const decoded = { id: decodeForm(basic.id) ?? basic.id, secret: decodeForm(basic.secret) ?? basic.secret }
  const id = parameters.get('client_id')
  if (id !== undefined && id !== basic.id && id !== decoded.id) {
    throw invalidRequest('client_id differs between Authorization and body')
  }
  const isSame = decoded.id === basic.id && decoded.secret === basic.secret
  return isSame ? [basic] : [basic, decoded]
}
