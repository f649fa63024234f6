import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { getToken, logIn } from '../support/api.ts'
import { createRandom } from '../support/random.ts'
import { start } from '../support/service.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { missingEtcd, startEtcd } from './support/etcd.ts'
import { startEtcdProxy } from './support/etcd-proxy.ts'
import { nodePlace, placeFlags } from './support/node.ts'

const NODES = 8

describe('first starts at once', { skip: missingEtcd }, () => {
  it('make accounts once, which all nodes know and one shows', async (t) => {
    const { urls, client: look } = await startEtcd(t)
    const place = await nodePlace(t, urls)
    // Each makes up credentials of its own.
    const begin = () => start(t, { flags: placeFlags(place), environment: {} })
    const nodes = await Promise.all(Array.from({ length: NODES }, begin))

    const shown = nodes.flatMap(({ madeUp }) => madeUp ?? [])
    assert.equal(shown.length, 1)
    const [{ username = '', password = '', client_id = '', client_secret = '' } = {}] = shown
    for (const { url } of nodes) {
      await logIn(url, { username, password })
      await getToken(url, { client_id, client_secret })
    }
    // A credential of another node counts, too: all have the same keys.
    const [first, second] = nodes
    assert.ok(first && second)
    const headers = await getToken(first.url, { client_id, client_secret })
    assert.equal((await second.call('/configurations/', { headers })).status, 200)

    const entries = await look().list(place.prefix)
    const made = entries.filter(({ key }) => !key.startsWith(`${place.prefix}w/`))
    assert.deepEqual(
      made.map(({ key, version }) => [key.slice(place.prefix.length), version]),
      [
        ['auth/accounts', 1],
        ['auth/keys', 1],
        ['meta', 1],
        ['seq', 1],
      ],
    )
    assert.equal(new Set(made.map(({ createRevision }) => createRevision)).size, 1)
  })

  it('show and keep the credentials that they have made up, also if etcd fails just after', async (t) => {
    const { urls } = await startEtcd(t, 1)
    const proxy = await startEtcdProxy(t, urls[0] ?? '')
    const place = await nodePlace(t, [proxy.url])
    let isLost = false
    proxy.rewrite((path, body) => {
      if (path === '/v3/kv/txn')
        proxy.lose({
          path: '/v3/kv/range',
          share: 1,
          random: createRandom(),
          when: 'before',
          onLoss() {
            isLost = true
            proxy.lose(undefined)
          },
        })
      return body
    })
    const folder = await temporaryFolder(t)
    const { url, madeUp } = await start(t, { folder, flags: placeFlags(place), environment: {} })
    const { username = '', password = '' } = madeUp ?? assert.fail('they are not shown')
    assert.ok(isLost)
    await logIn(url, { username, password })
    const kept = JSON.parse(await readFile(join(folder, 'initial-credentials.json'), 'utf8')) as object
    assert.equal('password' in kept && kept.password, password)
  })
})
