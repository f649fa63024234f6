import { nameCookie } from '../auth/session-cookie.ts'
import type { Route } from '../http/router.ts'
import { version } from '../version.ts'
import { type Body, type Parameter, tags } from './operation.ts'
import { Components, type DescribedRoute, mediaTypes, responsesOf } from './responses.ts'
import { schemas } from './schemas.ts'

/** The headers of a conditional request (RFC 9110 section 13.1). */
const conditions: readonly Parameter[] = [
  {
    name: 'If-Match',
    in: 'header',
    description:
      'Tags in quotes, or `*`; 412 unless the tag of what is there is one of them. Of anything else, a change is 400, and a read ignores it.',
    schema: { type: 'string', examples: ['"TAG"', '*'] },
  },
  {
    name: 'If-None-Match',
    in: 'header',
    description:
      'Tags in quotes, or `*`; if the tag of what is there is one of them, 304 to a read, 412 to a change. Of anything else, a change is 400, and a read ignores it.',
    schema: { type: 'string', examples: ['"TAG"', '*'] },
  },
]

/**
 * Describes routes as an OpenAPI document (https://spec.openapis.org/oas/v3.1.1).
 *
 * @param basePath Prefix of every path: empty, or `/like/this`.
 */
export function describeApi(routes: readonly DescribedRoute[], basePath: string) {
  const components = new Components()
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    const path = templateOf(route.path)
    paths[path] ??= {}
    paths[path][route.method.toLowerCase()] = describeRoute(route, components)
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'connbook',
      version,
      summary: 'Named connection configurations',
      description:
        'Every path also takes `OPTIONS`, and `HEAD` where it takes `GET`. Without a valid credential every call is answered 403, but for those that need none. With one, an unknown path is answered 404 and an unknown method 405.',
      contact: { name: 'Whoever runs this server' },
      license: { name: 'UNLICENSED', identifier: 'LicenseRef-UNLICENSED' },
    },
    servers: [{ url: basePath === '' ? '/' : basePath }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas, ...components.found, securitySchemes: securitySchemes(basePath) },
  }
}

/** The path as the document names it: without a slash at the end, which linters object to and the server does not need. */
export function templateOf(path: string): string {
  return path.replace(/(?<=.)\/$/, '').replaceAll(/:(\w+)/g, '{$1}')
}

function describeRoute(route: DescribedRoute, components: Components) {
  const { id, tag, notes, parameters = [], isConditional, body } = route.operation
  const summary = titleOf(route.summary)
  const taken = [...parameters, ...(isConditional ? conditions : [])]
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: notes === undefined ? `${summary}.` : `${summary}. ${notes}`,
    security: securityOf(route.access),
    ...(taken.length === 0 ? {} : { parameters: taken.map((each) => components.parameter(each)) }),
    ...(body === undefined ? {} : { requestBody: requestBodyOf(body) }),
    responses: responsesOf(route, components),
  }
}

function requestBodyOf({ content, description, bytesMax }: Body) {
  const limit = `At most ${bytesMax} bytes.`
  return {
    description: description === undefined ? limit : `${description} ${limit}`,
    required: true,
    content: mediaTypes(content),
  }
}

/** The first thought of a line of Markdown, as plain text. */
function titleOf(summary: string): string {
  const first = summary.split(/[:;]/)[0]?.replaceAll('`', '') ?? ''
  return first.charAt(0).toUpperCase() + first.slice(1)
}

/** @param basePath Prefix of every path: empty, or `/like/this`. */
function securitySchemes(basePath: string) {
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
          scopes: {
            read: 'Read records.',
            write: 'Read and change records.',
            admin: 'Read and change records, and manage accounts.',
          },
        },
      },
    },
  }
}

/** Any of them opens a route that is not public. */
function securityOf(access: Route['access']) {
  if (access === 'public') return []
  return [{ session: [] }, { secureSession: [] }, { token: [] }, { client: [access] }]
}
