import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { type ProblemCode, problemTypes } from '../../src/error-types.ts'
import { IMPORT_ROWS_MAX, LABELS_MAX, PAGE_RECORDS_MAX } from '../../src/limits.ts'
import { templateOf } from '../../src/openapi/document.ts'
import { problemsBefore, problemsOf } from '../../src/openapi/responses.ts'
import { describeRoutes, routes } from '../../src/resources/routes.ts'

/** Then no route is found, nobody gets the answer, or only the owner of the data folder does. */
const ofNoRoute: readonly ProblemCode[] = [
  'method_not_allowed',
  'client_gone',
  'incomplete_body',
  'too_many_keys',
]

describe('the OpenAPI document', () => {
  const text = describeRoutes({ basePath: '', metricsPublic: false })
  const document = JSON.parse(text)
  const operationOf = ({ path, method }: { path: string; method: string }) =>
    document.paths[templateOf(path)][method.toLowerCase()]

  it('has every route, and no other', () => {
    const described = Object.entries<object>(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const there = routes.map(({ method, path }) => `${method} ${templateOf(path)}`)
    assert.deepEqual(described.toSorted(), there.toSorted())
    assert.ok(there.includes('GET /configurations') && there.includes('PATCH /configurations/{name}'))
  })

  it('has every problem that a route can answer, and no route answers the others', () => {
    const answered = new Set(routes.flatMap((route) => [...problemsBefore(route), ...problemsOf(route)]))
    const codes = Object.keys(problemTypes) as ProblemCode[]
    assert.deepEqual(codes.filter((code) => !answered.has(code)).toSorted(), [...ofNoRoute].toSorted())
    const types = document.components.schemas.Problem.properties.type.enum
    assert.deepEqual(
      types,
      codes.map((code) => `urn:connbook:problem:${code}`),
    )
  })

  it('says of each route that can make the accounts longer that they may be too long', () => {
    const paths = routes.flatMap((route) =>
      problemsOf(route).includes('too_many_accounts') ? [`${route.method} ${route.path}`] : [],
    )
    const ofEach = ['users', 'clients'].flatMap((all) => [`POST /v1/${all}/`, `PATCH /v1/${all}/:account`])
    assert.deepEqual(paths.toSorted(), ofEach.toSorted())
  })

  it('gives each status of a route one meaning only', () => {
    for (const route of routes) {
      const own = Object.keys(route.operation.answers)
      const problems = [...problemsBefore(route), ...problemsOf(route)].map(
        (code) => problemTypes[code].status,
      )
      assert.deepEqual(
        own.filter((status) => problems.includes(Number(status) as (typeof problems)[number])),
        [],
        `${route.method} ${route.path}`,
      )
    }
  })

  it('demands a credential, with the scope, where the route does', () => {
    for (const route of routes) {
      const scopes = operationOf(route).security.flatMap(
        (each: Record<string, string[]>) => each.client ?? [],
      )
      assert.deepEqual(scopes, route.access === 'public' ? [] : [route.access], route.path)
    }
    const open = JSON.parse(describeRoutes({ basePath: '', metricsPublic: true }))
    assert.deepEqual(open.paths['/metrics'].get.security, [])
    assert.equal(open.paths['/metrics'].get.responses['403'], undefined)
  })

  it('names the base path, and the cookies as they are named there', () => {
    const cookies = (basePath: string) => {
      const { servers, components } = JSON.parse(describeRoutes({ basePath, metricsPublic: false }))
      const { session, secureSession, client } = components.securitySchemes
      const { tokenUrl } = client.flows.clientCredentials
      return [servers[0].url, session.name, secureSession.name, tokenUrl]
    }
    assert.deepEqual(cookies(''), ['/', 'connbook_session', '__Host-connbook_session', '/v1/auth/token'])
    assert.deepEqual(cookies('/x'), [
      '/x',
      'connbook_session',
      '__Secure-connbook_session',
      '/x/v1/auth/token',
    ])
  })

  it('says of an import that it takes the tag of the list, and answers with it', () => {
    const { parameters, responses } = document.paths['/v1/import'].post
    const { parameters: conditions } = document.paths['/configurations/{name}'].patch
    assert.deepEqual(parameters.slice(-2), conditions.slice(-2))
    assert.ok('ETag' in responses['200'].headers)
    assert.ok('412' in responses && !('304' in responses))
  })

  it('has the limits that are enforced', () => {
    const { parameters } = document.paths['/configurations'].get
    const perPage = parameters.find(({ name }: { name: string }) => name === 'per_page')
    assert.equal(perPage.schema.maximum, PAGE_RECORDS_MAX)
    for (const path of ['/configurations', '/v1/events']) {
      const found = document.paths[path].get.parameters
      const label = found.find(({ name }: { name: string }) => name === 'label')
      assert.deepEqual([label.style, label.explode, label.schema.maxItems], ['form', true, LABELS_MAX], path)
    }
    const { content } = document.paths['/v1/import'].post.requestBody
    assert.equal(content['application/json'].schema.anyOf[0].maxItems, IMPORT_ROWS_MAX)
  })

  it('has schemas without a word that JSON Schema does not know', () => {
    const ajv = new Ajv2020({ strict: true, strictRequired: false, strictTypes: false })
    formats.default(ajv)
    const text = JSON.stringify(document.components.schemas)
    const schemas = JSON.parse(text.replaceAll('#/components/schemas/', 'openapi.json#/$defs/'))
    ajv.addSchema({ $id: 'openapi.json', $defs: schemas })
    for (const name of Object.keys(schemas)) assert.doesNotThrow(() => ajv.compile(schemas[name]), name)
  })

  it('is the same text each time', () => {
    assert.equal(describeRoutes({ basePath: '', metricsPublic: false }), text)
  })
})
