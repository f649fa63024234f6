import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { createRouter, type Match, type Route } from '../../src/http/router.ts'
import { holdFor } from '../support/properties/hold-property.ts'
import { anySpellings, decodePercent, encodePercent } from '../support/properties/percent-encoding.ts'
import {
  anyEdit,
  anyText,
  applyEdit,
  joined,
  recordName,
  treacherousNames,
} from '../support/properties/texts.ts'

const route = (method: Route['method'], path: string): Route => {
  return { method, path, access: 'read', limits: 'same', handle: () => ({ status: 200, headers: {} }) }
}
const listed = route('GET', '/things/')
const added = route('POST', '/things/')
const got = route('GET', '/things/:name')
const modified = route('PATCH', '/things/:name')
const removed = route('DELETE', '/things/:name')
const loggedIn = route('POST', '/login')
const issued = route('POST', '/v1/auth/token')
const told = route('GET', '/things/:name/log')
const cleared = route('DELETE', '/things/:name/log/all')
const routes = [listed, added, got, modified, removed, loggedIn, issued, told, cleared]

const routers = { '': createRouter(routes, ''), '/base/path': createRouter(routes, '/base/path') }
type BasePath = keyof typeof routers

/** The expected routes, resource by resource. */
function expectedMatch(basePath: BasePath, method: string, path: string): Match | 'malformed' | undefined {
  const raw: string[] = ['']
  for (const character of path) {
    if (character === '/') raw.push('')
    else raw.push(`${raw.pop()}${character}`)
  }
  if (raw.some((segment) => decodePercent(segment) === undefined)) return 'malformed'
  const segments = [...raw]
  if (segments.shift() !== '') return undefined
  if (basePath !== '' && (segments.shift() !== 'base' || segments.shift() !== 'path')) return undefined
  const [first, second = '', ...more] = segments
  const asGet = method === 'HEAD' ? 'GET' : method
  const found = (allow: string, known: Partial<Record<string, Route>>, parameter = ''): Match => {
    const pattern = Object.values(known)[0]?.path ?? assert.fail('no route')
    const route = Object.hasOwn(known, asGet) ? known[asGet] : undefined
    return { route, allow, pattern, parameter: decodePercent(parameter) ?? assert.fail('malformed') }
  }
  if (first === 'things' && second === '' && more.length === 0) {
    return found('GET, HEAD, POST, OPTIONS', { GET: listed, POST: added })
  }
  if (first === 'things' && more.length === 0) {
    const known = { GET: got, PATCH: modified, DELETE: removed }
    return found('GET, HEAD, PATCH, DELETE, OPTIONS', known, second)
  }
  if (first === 'things' && second !== '' && more[0] === 'log') {
    if (more.length === 1) return found('GET, HEAD, OPTIONS', { GET: told }, second)
    if (more.length === 2 && more[1] === 'all') return found('DELETE, OPTIONS', { DELETE: cleared }, second)
  }
  if (first === 'login' && segments.length === 1) return found('POST, OPTIONS', { POST: loggedIn })
  if (first === 'v1' && second === 'auth' && more.length === 1 && more[0] === 'token')
    return found('POST, OPTIONS', { POST: issued })
  return undefined
}

const basePaths = fc.constantFrom<BasePath>('', '', '/base/path')
const methods = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('GET', 'HEAD', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'PUT') },
  { weight: 1, arbitrary: fc.constantFrom('get', '', ...treacherousNames) },
)
const pieces = [
  '/',
  '/',
  '/',
  'things',
  'login',
  'v1',
  'auth',
  'token',
  'base',
  'path',
  'log',
  'all',
  '/log',
  '/things/',
  '/login',
  '/base/path',
]
  .concat([
    '%2f',
    '%2F',
    '%5c',
    '..',
    '.',
    '%2e',
    ':name',
    'a',
    '%00',
    '%252f',
    '%c3%a9',
    'é',
    '%EF%BB%BF',
    '\ufeff',
  ])
  .concat([
    '%',
    '%4',
    '%zz',
    '%ff',
    '%c3',
    '%ed%a0%80',
    '%c0%af',
    '%F0%9F%98%80',
    '__proto__',
    't%68ings',
    ';a',
    '//',
  ])
const goodPaths = fc
  .record({
    basePath: fc.constantFrom('', '/base/path'),
    path: fc.constantFrom(
      ...['/things/', '/things', '/things/a', '/things/a/log', '/things/log/log/all'],
      ...['/login', '/v1/auth/token'],
    ),
    spellings: anySpellings,
    isFixedEncoded: fc.boolean(),
  })
  .map(({ basePath, path, spellings, isFixedEncoded }) =>
    (basePath + path)
      .split('/')
      .map((segment) => (segment === 'a' || isFixedEncoded ? encodePercent(segment, spellings) : segment))
      .join('/'),
  )
const nearlyGoodPaths = fc
  .tuple(goodPaths, anyEdit(fc.constantFrom(...pieces)))
  .map(([path, edit]) => applyEdit(path, edit))
const paths = fc.oneof(goodPaths, nearlyGoodPaths, joined(pieces, anyText))

describe('the router, for any path,', () => {
  it('finds the documented route, and nothing else', (t) => {
    holdFor(t, fc.tuple(basePaths, methods, paths), ([basePath, method, path]) => {
      assert.deepEqual(routers[basePath].match(method, path), expectedMatch(basePath, method, path))
    })
  })

  it('decodes a name in any encoding, and does not split it at an encoded slash', (t) => {
    holdFor(t, fc.tuple(basePaths, recordName, anySpellings), ([basePath, name, spellings]) => {
      for (const segment of [encodeURIComponent(name), encodePercent(name, spellings)]) {
        for (const [end, route] of [['', got] as const, ['/log', told] as const]) {
          const match = routers[basePath].match('GET', `${basePath}/things/${segment}${end}`)
          assert.ok(match !== undefined && match !== 'malformed')
          assert.equal(match.route, route)
          assert.equal(match.parameter, name)
        }
      }
    })
  })

  it('decodes a path only once', (t) => {
    holdFor(t, recordName, (name) => {
      const once = encodeURIComponent(name)
      const match = routers[''].match('GET', `/things/${encodeURIComponent(once)}`)
      assert.ok(match !== undefined && match !== 'malformed')
      assert.equal(match.parameter, once)
    })
  })

  it('reports a bad escape anywhere in a path as malformed', (t) => {
    const badEscapes = fc.constantFrom(
      '%',
      '%4',
      '%zz',
      '%g0',
      '%0g',
      '%ff',
      '%80',
      '%c3',
      '%e2%82',
      '%c0%af',
      '%ed%a0%80',
      '%f5%80%80%80',
    )
    // Before a slash, as a digit after the escape would complete it.
    const values = fc.tuple(goodPaths, fc.nat(), badEscapes).map(([path, at, bad]) => {
      const slashes = [...path.matchAll(/\//g)].map(({ index }) => index)
      const slash = slashes[at % slashes.length] ?? 0
      return `${path.slice(0, slash)}${bad}${path.slice(slash)}`
    })
    holdFor(t, values, (path) => assert.equal(routers[''].match('GET', path), 'malformed'))
  })
})
