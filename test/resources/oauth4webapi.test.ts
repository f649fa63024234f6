import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as oauth from 'oauth4webapi'
import { readBlock } from '../manual/published.ts'
import { client, start } from '../support/service.ts'

/** The service under test speaks plain HTTP. */
const insecure = { [oauth.allowInsecureRequests]: true }

type Script = (
  library: typeof oauth,
  secret: string,
  console: { log: (shown: unknown) => void },
) => Promise<void>

describe('oauth4webapi', () => {
  it('gets a token and reads the list, as the manual shows', async (t) => {
    const { url } = await start(t)
    const [, , ...lines] = readBlock('oauth', 'js').split('\n')
    const text = lines
      .join('\n')
      .replace('http://localhost:8080', url)
      .replace("'default'", `'${client.client_id}'`)
    const shown: unknown[] = []
    const run: Script = new Function(
      'oauth',
      'secret',
      'console',
      `return (async () => {${text}})()`,
    ) as Script
    await run(oauth, client.client_secret, { log: (value) => shown.push(value) })
    assert.deepEqual(shown, [{ configurations: [] }])
  })

  for (const flags of [[], ['--base-path', '/like/this']]) {
    for (const [way, authenticate] of Object.entries({
      client_secret_basic: oauth.ClientSecretBasic,
      client_secret_post: oauth.ClientSecretPost,
    })) {
      it(`discovers, gets a token and revokes it, by ${way} ${flags.join(' ')}`, async (t) => {
        const { url } = await start(t, { flags })
        const issuer = new URL(url)
        const discovered = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' })
        const server = await oauth.processDiscoveryResponse(issuer, discovered)
        assert.ok(server.token_endpoint_auth_methods_supported?.includes(way))
        const self = { client_id: client.client_id }
        const authentication = authenticate(client.client_secret)
        const answer = await oauth.clientCredentialsGrantRequest(
          server,
          self,
          authentication,
          new URLSearchParams({ scope: 'read' }),
          insecure,
        )
        const token = await oauth.processClientCredentialsResponse(server, self, answer)
        const read = async () => {
          const list = new URL(`${url}/configurations/`)
          const { status } = await oauth.protectedResourceRequest(
            token.access_token,
            'GET',
            list,
            undefined,
            undefined,
            insecure,
          )
          return status
        }
        assert.equal(token.scope, 'read')
        assert.equal(await read(), 200)
        const revoked = await oauth.revocationRequest(
          server,
          self,
          authentication,
          token.access_token,
          insecure,
        )
        assert.equal(await oauth.processRevocationResponse(revoked), undefined)
        await assert.rejects(read(), oauth.WWWAuthenticateChallengeError)
      })
    }
  }
})
