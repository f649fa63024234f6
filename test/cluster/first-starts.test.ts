import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { getToken, logIn } from '../support/api.ts'
import { start } from '../support/service.ts'
import { missingEtcd, startEtcd } from './support/etcd.ts'
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
    // Of another node, which has the same keys.
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
})
