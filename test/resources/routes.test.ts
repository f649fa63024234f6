import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRouter, type Route } from '../../src/http/router.ts'
import { createStartingRoutes, routes } from '../../src/resources/routes.ts'
import { readChapterNamed } from '../manual/published.ts'

describe('the routes', () => {
  it('require a credential, the scope write for changes and admin for accounts, except as listed here', () => {
    const usual = (method: string, path: string) =>
      /^\/v1\/(?:users|clients)\//.test(path) ? 'admin' : method === 'GET' ? 'read' : 'write'
    const exceptions = routes.filter(({ method, path, access }) => access !== usual(method, path))
    assert.deepEqual(
      exceptions.map(({ method, path, access }) => `${access}: ${method} ${path}`),
      [
        'public: POST /login',
        'read: POST /logout',
        'public: POST /v1/auth/token',
        'public: POST /v1/auth/revoke',
        'public: GET /.well-known/oauth-authorization-server',
        'read: POST /v1/password',
        'public: GET /healthz',
        'public: GET /readyz',
        'public: GET /console/',
        'public: GET /console/:file',
      ],
    )
    const byOption = routes.filter(({ publicBy }) => publicBy !== undefined)
    assert.deepEqual(
      byOption.map(({ method, path, publicBy }) => `${publicBy}: ${method} ${path}`),
      ['metricsPublic: GET /metrics'],
    )
  })

  it('are each listed once', () => {
    const calls = routes.map(({ method, path }) => `${method} ${path}`)
    assert.deepEqual(calls, [...new Set(calls)])
  })

  it('answer only public requests during the start', () => {
    const parts = { basePath: '/base', whyNotReady: () => undefined, whyNotReadable: () => undefined }
    const { all, owner, redirect } = createStartingRoutes(parts, {})
    const shown = (some: readonly Route[]) => some.map(({ access, path }) => `${access} ${path}`)
    const health = ['public /healthz', 'public /readyz']
    assert.deepEqual(shown(all), [...health, 'public /console/', 'public /console/:file'])
    assert.deepEqual(shown(owner), health)
    assert.notEqual(redirect, undefined)
    const without = createStartingRoutes(parts, { noConsole: true })
    assert.deepEqual(
      [shown(without.all), shown(without.owner), without.redirect],
      [health, health, undefined],
    )
    assert.notEqual(createRouter(all, '/base').match('HEAD', '/base/healthz'), undefined)
  })

  it('are public as the chapter "interface" says', () => {
    const said =
      /Only (`\/.*?) with its files answer without a credential\. With `--metrics-public`, (.*?) answers/
    const [, named = '', byOption = ''] = said.exec(readChapterNamed('interface').replace(/\s+/g, ' ')) ?? []
    const paths = (text: string) => Array.from(text.matchAll(/`(\/[^`]*)`/g), ([, path]) => path)
    const those = (is: (route: (typeof routes)[number]) => boolean) => [
      ...new Set(routes.filter(is).map(({ path }) => path.replace(/:\w+$/, ''))),
    ]
    assert.deepEqual(
      paths(named),
      those(({ access }) => access === 'public'),
    )
    assert.deepEqual(
      paths(byOption),
      those(({ publicBy }) => publicBy !== undefined),
    )
  })
})
