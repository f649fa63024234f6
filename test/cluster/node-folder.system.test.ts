import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ClusterRefusedError } from '../../src/cluster/cluster-error.ts'
import { draft } from '../support/store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { missingEtcd, startEtcd } from './support/etcd.ts'
import { nodePlace, startNode } from './support/node.ts'

/** A folder of a node that has stopped. */
async function setUp(t: TestContext) {
  const { urls, client } = await startEtcd(t, 1)
  const place = await nodePlace(t, urls)
  const folder = await temporaryFolder(t)
  const node = await startNode(t, place, { folder })
  const body = JSON.stringify(draft('a'))
  const headers = { authorization: await node.bearer() }
  assert.equal((await node.call('/configurations/', { method: 'POST', headers, body })).status, 200)
  await node.stop()
  return { place, folder, look: client() }
}

describe('the folder of a node that was part of a store', { skip: missingEtcd }, () => {
  it('begins no other one when the prefix is empty', async (t) => {
    const { place, folder, look } = await setUp(t)
    await look.removeAll(place.prefix)
    await assert.rejects(startNode(t, place, { folder }), (error) => {
      assert.ok(error instanceof ClusterRefusedError)
      assert.match(error.message, /the prefix "\/test-.*" of etcd at http:.* is empty; check --etcd and/)
      return true
    })
    assert.deepEqual(await look.list(place.prefix), [])
    // Another folder may.
    await startNode(t, place)
  })

  it('becomes part of another one that is there, and the log says so once', async (t) => {
    const { place, folder, look } = await setUp(t)
    await look.removeAll(place.prefix)
    await startNode(t, place)
    const moved = await startNode(t, place, { folder })
    assert.ok(moved.log.events.includes('cluster_store_changed'))
    await moved.stop()
    const again = await startNode(t, place, { folder })
    assert.ok(!again.log.events.includes('cluster_store_changed'))
  })
})
