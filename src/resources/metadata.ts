import { isAuthority } from '../http/header-fields.ts'
import { jsonReply, type Reply, type Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { scopeWords } from '../http/scope.ts'
import { json } from './bodies.ts'
import { defineResource } from './resource.ts'

/** What OAuth clients ask a server about itself. */
export const metadata = defineResource({
  handlers: ({ publicUrl, basePath }) => metadataHandlers(publicUrl, basePath),
  /** Its answers have URLs. */
  dependsOnBasePath: true,
  routes: [
    {
      method: 'GET',
      path: '/.well-known/oauth-authorization-server',
      access: 'public',
      limits: 'same',
      needsNoState: true,
      isWellKnown: true,
      summary: 'tells OAuth clients where to get and revoke tokens',
      answers: '200',
      operation: {
        id: 'getAuthorizationServer',
        tag: 'credentials',
        notes: 'RFC 8414. With a base path, it is also at this path followed by the base path.',
        answers: { 200: { description: 'The metadata.', content: json('AuthorizationServer') } },
      },
      handler: 'read',
    },
  ],
})

/**
 * What OAuth clients look up before they ask for a token (RFC 8414).
 *
 * @param publicUrl By which clients reach the server, without a slash at the end; if undefined, each request says it.
 */
export function metadataHandlers(publicUrl: string | undefined, basePath: string) {
  return { read }

  function read(request: Request): Reply {
    const issuer = publicUrl ?? originOf(request) + basePath
    return jsonReply(200, {
      issuer,
      token_endpoint: `${issuer}/v1/auth/token`,
      revocation_endpoint: `${issuer}/v1/auth/revoke`,
      grant_types_supported: ['client_credentials'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      scopes_supported: scopeWords,
      response_types_supported: [],
    })
  }
}

/**
 * Scheme and host as they came; behind a trusted proxy, as it says.
 *
 * @throws {Problem} 400 without a host: HTTP/1.0 allows no `Host`, and HTTP/1.1 an empty one. No client could use a URL
 *   without it.
 */
function originOf({ isSecure, forwardedHost, headers }: Request): string {
  const host = forwardedHost ?? headers.host
  if (host === undefined) throw new Problem('missing_host', 'The header Host is missing')
  const origin = `${isSecure ? 'https' : 'http'}://${host}`
  if (isAuthority(host) && URL.canParse(origin)) return origin
  const header = forwardedHost === undefined ? 'Host' : 'X-Forwarded-Host'
  throw new Problem('malformed_host', `The header ${header} does not name a host`)
}
