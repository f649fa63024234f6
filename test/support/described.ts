import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import type { ValidateFunction } from 'ajv'
import { createRouter, type Router } from '../../src/http/router.ts'
import { parseJson } from '../../src/json.ts'
import { BODY_BYTES_MAX } from '../../src/limits.ts'
import { templateOf } from '../../src/openapi/document.ts'

/** An answer, with the names of headers in lower case, and the body that was sent for it. */
export interface Received {
  readonly sent?: unknown
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

interface Header {
  readonly required?: boolean
}

interface Response {
  readonly headers?: Record<string, Header>
  readonly content?: Record<string, { readonly schema: { readonly type?: string; readonly $ref?: string } }>
}

interface Operation {
  readonly requestBody?: { readonly content: Record<string, unknown> }
  readonly responses: Record<string, Response>
}

interface Api {
  /** The routes of a server with this base path. */
  routerAt(basePath: string): Router
  /** Its references are resolved, but for those to schemas. */
  findOperation(pattern: string, method: string): Operation | undefined
  /** @param path Of the schema in the document. */
  validatorOf(...path: readonly string[]): ValidateFunction
}

const JSON_TYPE = 'application/json'

/** Headers of HTTP itself, or of every answer, also of those that no route makes. */
const generalHeaders = new Set([
  'connection',
  'content-length',
  'content-security-policy',
  'content-type',
  'date',
  'keep-alive',
  'referrer-policy',
  'strict-transport-security',
  'transfer-encoding',
  'x-content-type-options',
])

let api: Promise<Api> | undefined

/**
 * Asserts that an answer is one that the OpenAPI document describes: status, headers, type and body; and that it describes
 * the JSON that was sent, if that was accepted.
 *
 * @param target As it was sent, with the base path.
 */
export async function assertDescribed(
  basePath: string,
  method: string,
  target: string,
  answer: Received,
): Promise<void> {
  api ??= readApi()
  const known = await api
  const call = `the answer ${answer.status} to ${method} ${target}`
  const path = target.split('?')[0] ?? ''
  const match = known.routerAt(basePath).match(method, path)
  const pattern = match === undefined || match === 'malformed' ? undefined : match.pattern
  const operation = pattern === undefined ? undefined : known.findOperation(pattern, method)
  // The way of browsers from the root to the console.
  if (pattern === undefined && answer.status === 303 && basePath === path.replace(/\/$/, '')) return
  if (operation === undefined || pattern === undefined) assertOfNoRoute(known, method, call, answer)
  else assertOfRoute(known, operation, [templateOf(pattern), method], call, answer)
}

function assertOfNoRoute(known: Api, method: string, call: string, answer: Received): void {
  if (method === 'HEAD' || (method === 'OPTIONS' && answer.status === 204)) return
  assert.ok(answer.status >= 400, `${call} is of no route in the OpenAPI document`)
  assert.equal(answer.headers['content-type'], 'application/problem+json', call)
  assertValid(known.validatorOf('components', 'schemas', 'Problem'), JSON.parse(answer.text), call)
}

function assertOfRoute(
  known: Api,
  { requestBody, responses }: Operation,
  [template, method]: readonly [string, string],
  call: string,
  { sent, status, headers, text }: Received,
): void {
  const operation = ['paths', template, method.toLowerCase()]
  const accepted = status < 300 && requestBody?.content[JSON_TYPE] !== undefined ? jsonOf(sent) : undefined
  if (accepted !== undefined) {
    const schema = ['requestBody', 'content', JSON_TYPE, 'schema']
    assertValid(known.validatorOf(...operation, ...schema), accepted, `the body before ${call}`)
  }
  const response = responses[status] ?? assert.fail(`${call} is not in the OpenAPI document`)
  const declared = Object.entries(response.headers ?? {})
  for (const [name, { required }] of declared)
    if (required) assert.ok(headers[name.toLowerCase()] !== undefined, `${call} lacks ${name}`)
  const names = new Set(declared.map(([name]) => name.toLowerCase()))
  const others = Object.keys(headers).filter((name) => !names.has(name) && !generalHeaders.has(name))
  assert.deepEqual(others, [], `${call} has headers that the OpenAPI document does not have`)
  if (method === 'HEAD') return
  if (response.content === undefined) {
    assert.equal(text, '', `${call} has a body`)
    return
  }
  const type = headers['content-type']?.split(';')[0] ?? ''
  const described = response.content[type] ?? assert.fail(`${call} has the type ${type}`)
  const isText = described.schema.type === 'string'
  const schema = ['responses', String(status), 'content', type, 'schema']
  assertValid(known.validatorOf(...operation, ...schema), isText ? text : JSON.parse(text), call)
}

/** Undefined for what is not JSON, such as a form, and for a long import, which would take long. */
function jsonOf(sent: unknown): unknown {
  if ((typeof sent === 'string' || sent instanceof Uint8Array) && sent.length > BODY_BYTES_MAX)
    return undefined
  return typeof sent === 'string' || sent instanceof Uint8Array ? parseJson(String(sent)) : sent
}

function assertValid(validate: ValidateFunction, value: unknown, call: string): void {
  if (validate(value)) return
  const faults = validate.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`)
  assert.fail(`${call} is not as the OpenAPI document says: ${faults?.join(', ')}`)
}

async function readApi(): Promise<Api> {
  const { Ajv2020 } = await import('ajv/dist/2020.js')
  const { default: formats } = await import('ajv-formats')
  const { describeRoutes, routes } = await import('../../src/resources/routes.ts')
  const document = JSON.parse(describeRoutes({ basePath: '', metricsPublic: false }))
  inlineReferences(document)
  const ajv = new Ajv2020({ strict: false, validateSchema: false })
  formats.default(ajv)
  ajv.addSchema(document, 'openapi.json')
  const all = routes.map((route) => ({ ...route, handle: () => ({ status: 200, headers: {} }) }))
  const routers = new Map<string, Router>()
  const validators = new Map<string, ValidateFunction>()
  return {
    routerAt(basePath) {
      const router = routers.get(basePath) ?? createRouter(all, basePath)
      routers.set(basePath, router)
      return router
    },
    findOperation: (pattern, method) =>
      document.paths[templateOf(pattern)]?.[method === 'HEAD' ? 'get' : method.toLowerCase()],
    validatorOf(...path) {
      const key = path.map(pointerPart).join('/')
      const validate = validators.get(key) ?? ajv.compile({ $ref: `openapi.json#/${key}` })
      validators.set(key, validate)
      return validate
    },
  }
}

/** Puts responses and their headers where they are referred to. */
function inlineReferences(document: {
  paths: Record<string, Record<string, { responses: Record<string, { $ref?: string; headers?: object }> }>>
  components: { responses: Record<string, object>; headers: Record<string, object> }
}): void {
  const { responses: shared, headers: known } = document.components
  for (const path of Object.values(document.paths)) {
    for (const { responses } of Object.values(path)) {
      for (const [status, response] of Object.entries(responses)) {
        const { headers = {}, ...found } = response.$ref ? lookUp(shared, response.$ref) : response
        const inlined = Object.entries(headers).map(([name, { $ref }]) => [name, lookUp(known, $ref)])
        responses[status] = { ...found, headers: Object.fromEntries(inlined) }
      }
    }
  }
}

function lookUp(
  shared: Record<string, object>,
  reference: string,
): { headers?: Record<string, { $ref: string }> } {
  return shared[reference.split('/').at(-1) ?? ''] ?? assert.fail(`${reference} leads nowhere`)
}

/** RFC 6901 section 6. */
function pointerPart(text: string): string {
  return encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'))
}
