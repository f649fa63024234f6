import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRouter, type Route } from '../../src/http/router.ts'
import { backup } from '../../src/resources/backup.ts'
import { keys } from '../../src/resources/keys.ts'
import { createStartingRoutes, describeRoutes, routes } from '../../src/resources/routes.ts'
import { readChapterNamed } from '../manual/published.ts'
import { logIn } from '../support/api.ts'
import { createClient, ownHeaders } from '../support/http-client.ts'
import { asOwner } from '../support/owner.ts'
import { admin, start } from '../support/service.ts'
import { problemIn } from './administrators.ts'

/** The routes that only the owner of the data folder has. */
const ownerRoutes = [...keys.routes, ...backup.routes]

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

  it('of the owner are in no document', () => {
    const document = describeRoutes({ basePath: '', metricsPublic: false })
    for (const { path } of ownerRoutes) {
      assert.deepEqual(
        routes.filter((route) => route.path === path),
        [],
      )
      assert.ok(!document.includes(path), path)
    }
  })

  it('of the owner are nothing over the network, for admins either', async (t) => {
    const service = await start(t)
    const as = {
      admin: createClient(service.url, await logIn(service.url, admin)),
      client: createClient(service.url, { Authorization: await service.bearer() }),
      stranger: createClient(service.url, { 'Connbook-Account': 'root', 'Connbook-Command': 'keys list' }),
    }
    for (const [who, ask] of Object.entries(as))
      for (const [known, unknown] of [
        ['/v1/keys', '/v1/kees'],
        ['/v1/keys/', '/v1/kees/'],
        ['/v1//keys', '/v1//kees'],
        ['/v1/%6beys', '/v1/%6bees'],
        ['/v1/keys/rotate', '/v1/kees/rotate'],
        ['/v1/backup', '/v1/bakup'],
        ['/v1/keys/revoke-all', '/v1/kees/rotate'],
      ] as const)
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
          const [one, other] = [await ask(method, known), await ask(method, unknown)]
          assert.equal(one.status, who === 'stranger' ? 403 : 404, `${method} ${known}`)
          assert.deepEqual([one.text, ownHeaders(one)], [other.text, ownHeaders(other)], `${method} ${known}`)
        }
  })

  it("of the owner are not for a token that comes by the owner's socket", async (t) => {
    const service = await start(t)
    const answer = await asOwner(service, { Authorization: await service.bearer() })('GET', '/v1/keys')
    assert.deepEqual(problemIn(answer), [403, 'insufficient_scope'])
    assert.equal((await asOwner(service)('GET', '/v1/keys')).status, 200)
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
