import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { configurationRoutes } from '../../src/resources/configurations.ts'
import { healthRoutes } from '../../src/resources/health.ts'
import { metricsRoutes } from '../../src/resources/metrics.ts'
import { sessionRoutes } from '../../src/resources/session.ts'
import { tokenRoutes } from '../../src/resources/token.ts'
import { setUpAuthenticator } from '../support/authenticator.ts'
import { openStore } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('the routes', () => {
  it('let nobody in without a credential, and nobody write without the scope for it, but as listed here', async (t) => {
    const { authenticator, audit } = await setUpAuthenticator(t)
    const { store } = await openStore(t, await temporaryFolder(t))
    const routes = [
      ...configurationRoutes(store, '', audit),
      ...healthRoutes(() => undefined),
      ...metricsRoutes([], false),
      ...sessionRoutes(authenticator),
      ...tokenRoutes(authenticator),
    ]
    const usual = (method: string) => (method === 'GET' ? 'read' : 'write')
    const exceptions = routes.filter(({ method, access }) => access !== usual(method))
    assert.deepEqual(
      exceptions.map(({ method, path, access }) => `${access}: ${method} ${path}`),
      [
        'public: GET /healthz',
        'public: GET /readyz',
        'public: POST /login',
        'read: POST /logout',
        'public: POST /v1/auth/token',
      ],
    )
  })
})
