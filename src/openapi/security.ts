import { nameCookie } from '../auth/session-cookie.ts'
import type { Route } from '../http/router.ts'

/** @param basePath Prefix of every path: empty, or `/like/this`. */
export function securitySchemes(basePath: string) {
  const path = basePath === '' ? '/' : basePath
  const cookie = (isSecure: boolean) => ({ type: 'apiKey', in: 'cookie', name: nameCookie(path, isSecure) })
  const describe = (protocol: string) =>
    `The cookie that \`/login\` sets over ${protocol}, there with \`_\` and eight hexadecimal digits of the server behind its name; taken under both names.`
  return {
    session: { ...cookie(false), description: describe('plain HTTP') },
    secureSession: { ...cookie(true), description: describe('HTTPS') },
    token: {
      type: 'http',
      scheme: 'bearer',
      description:
        'A token that `/v1/auth/token` issued. A header `Authorization` counts alone, without the cookie.',
    },
    client: {
      type: 'oauth2',
      description: 'A client that gets its tokens itself.',
      flows: {
        clientCredentials: {
          tokenUrl: `${basePath}/v1/auth/token`,
          scopes: { read: 'Read records.', write: 'Read and change records.' },
        },
      },
    },
  }
}

/** Any of them opens a route that is not public. */
export function securityOf(access: Route['access']) {
  if (access === 'public') return []
  return [{ session: [] }, { secureSession: [] }, { token: [] }, { client: [access] }]
}
