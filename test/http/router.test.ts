import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRouter, type Route } from '../../src/http/router.ts'

const route = (method: Route['method'], path: string): Route => {
  return { method, path, access: 'read', limits: 'same', handle: () => ({ status: 200, headers: {} }) }
}

const routes = [
  route('GET', '/things/'),
  route('POST', '/things/'),
  route('GET', '/things/:name'),
  route('DELETE', '/things/:name'),
  route('POST', '/log'),
  route('GET', '/things/:name/parts/all'),
  route('GET', '/past/:name'),
]

describe('createRouter', () => {
  const router = createRouter(routes, '')

  describe('finds one item', () => {
    const rows: [segment: string, parameter: string][] = [
      ['a', 'a'],
      ['a%2Fb', 'a/b'],
      ['%2541', '%41'],
      ['a+b', 'a+b'],
      ['%F0%9F%98%80', '😀'],
      ['__proto__', '__proto__'],
      ['..', '..'],
      ['%2e%2E', '..'],
      [':name', ':name'],
    ]
    for (const [segment, parameter] of rows) {
      it(`${segment}: ${parameter}`, () => {
        assert.deepEqual(router.match('GET', `/things/${segment}`), {
          route: routes[2],
          allow: 'GET, HEAD, DELETE, OPTIONS',
          pattern: '/things/:name',
          parameter,
        })
      })
    }
  })

  it('finds what is below one item, whatever its name', () => {
    const names = { a: 'a', 'a%2Fb': 'a/b', parts: 'parts', '%2Fparts%2Fall': '/parts/all', ':name': ':name' }
    for (const [segment, parameter] of Object.entries(names)) {
      assert.deepEqual(router.match('HEAD', `/things/${segment}/parts/all`), {
        route: routes[5],
        allow: 'GET, HEAD, OPTIONS',
        pattern: '/things/:name/parts/all',
        parameter,
      })
    }
  })

  it('refuses a literal segment beside a parameter, in either order', () => {
    for (const paths of [
      ['/things/:name', '/things/all'],
      ['/things/all', '/things/:name/parts'],
    ]) {
      const beside = paths.map((path) => route('GET', path))
      assert.throws(() => createRouter(beside, ''), /Cannot add the route "\/things\//)
    }
  })

  it('finds a list with and without the trailing slash', () => {
    for (const path of ['/things/', '/things']) {
      assert.deepEqual(router.match('POST', path), {
        route: routes[1],
        allow: 'GET, HEAD, POST, OPTIONS',
        pattern: '/things/',
        parameter: '',
      })
    }
  })

  it('routes HEAD to the handler of GET, and to no other', () => {
    assert.deepEqual(router.match('HEAD', '/things/a'), router.match('GET', '/things/a'))
    assert.deepEqual(router.match('HEAD', '/log'), {
      route: undefined,
      allow: 'POST, OPTIONS',
      pattern: '/log',
      parameter: '',
    })
  })

  it('finds nothing at other paths', () => {
    for (const path of [
      '',
      '/',
      '/thing',
      '/things//',
      '/things/a/',
      '/things/a/b',
      '/things//parts/all',
      '/past/',
      '/things/a/parts',
      '/things/a/parts/all/',
      '/things/a%2Fparts/all',
      '/things/a/parts%2Fall',
      '//things',
      '/things%2F',
      '/log/',
      '/LOG',
    ]) {
      assert.equal(router.match('GET', path), undefined, path)
    }
  })

  it('compares fixed segments as they are sent, as a proxy does with its rules', () => {
    const based = createRouter(routes, '/base')
    for (const path of [
      '/%6cog',
      '/lo%67',
      '/%74hings/',
      '/%74hings/a',
      '/things/a/parts/%61ll',
      '/things/a/%2e',
    ])
      assert.equal(router.match('POST', path), undefined, path)
    for (const path of ['/b%61se/log', '/base/%6Cog'])
      assert.equal(based.match('POST', path), undefined, path)
  })

  it('reports a path as malformed if it is not percent-encoded UTF-8', () => {
    for (const path of [
      '/%',
      '%',
      '/things/%4',
      '/things/%zz',
      '/%ff/a',
      '/none/a/%ff/b',
      '/things/%ed%a0%80',
      '/things/%c0%af',
    ]) {
      assert.equal(router.match('GET', path), 'malformed', path)
    }
  })

  it('finds nothing outside a base path', () => {
    const based = createRouter(routes, '/base/path')
    assert.equal(based.match('POST', '/base/path/log')?.valueOf() instanceof Object, true)
    for (const path of [
      '/log',
      '/base/log',
      '/base/path',
      '/base/path/',
      '/base/pathlog',
      '/base/path//log',
    ]) {
      assert.equal(based.match('POST', path), undefined, path)
    }
  })
})
