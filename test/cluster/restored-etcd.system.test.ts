import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { cp, rm } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { readEvents } from '../support/event-reader.ts'
import { eventually } from '../support/eventually.ts'
import type { TestService } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { missingEtcd, startEtcd } from './support/etcd.ts'
import { startEtcdProxy } from './support/etcd-proxy.ts'
import { nodePlace, startNode } from './support/node.ts'

interface List {
  readonly tag: string
  readonly names: readonly string[]
}

describe('nodes whose etcd is taken back to an earlier state', { skip: missingEtcd }, () => {
  for (const { title, later } of [
    { title: 'behind what they have seen', later: [] },
    { title: 'and has gone beyond what they have seen', later: ['x', 'y', 'z'] },
  ])
    it(`${title}: they read everything again, with other tags, and tell readers`, async (t) => {
      const { members, urls } = await startEtcd(t, 1)
      const [member] = members
      assert.ok(member)
      const proxy = await startEtcdProxy(t, member.url)
      const place = await nodePlace(t, [proxy.url])
      const nodes = [await startNode(t, place), await startNode(t, place)]
      const [here, there] = nodes
      assert.ok(here && there)
      const authorization = await here.bearer()
      const add = async (node: TestService, name: string) => {
        const body = JSON.stringify(draft(name))
        const answer = await node.call('/configurations/', {
          method: 'POST',
          headers: { authorization },
          body,
        })
        assert.equal(answer.status, 200, name)
      }
      const list = async (node: TestService, more: Record<string, string> = {}): Promise<List> => {
        const answer = await node.call('/configurations/', { headers: { authorization, ...more } })
        const { configurations } = (await answer.json()) as { configurations: { name: string }[] }
        return { tag: answer.headers.get('etag') ?? '', names: configurations.map(({ name }) => name) }
      }
      await add(here, 'a')
      await add(there, 'b')
      await member.kill()
      const kept = `${member.dataFolder}.kept`
      t.after(() => rm(kept, { recursive: true, force: true }))
      await cp(member.dataFolder, kept, { recursive: true })
      await member.start()
      await add(here, 'c')
      await add(there, 'd')
      await list(here, { 'cache-control': 'no-cache' })
      const lost = await list(here)
      const reader = await readEvents(t, here.url, { Authorization: authorization })
      await reader.until('\n\n')

      await member.kill()
      await rm(member.dataFolder, { recursive: true })
      await cp(kept, member.dataFolder, { recursive: true })
      await proxy.refuse()
      await member.start()
      if (later.length > 0) {
        // A node that knows nothing of it changes records before the others hear of anything.
        const other = await startNode(t, { ...place, etcd: urls })
        for (const name of later) await add(other, name)
      }
      await proxy.accept()
      const expected = ['a', 'b', ...later]
      for (const node of [here, there])
        await eventually(
          'a node has the records of etcd',
          async () => (await list(node)).names.join() === expected.join(),
        )
      await eventually('both have one tag', async () => (await list(here)).tag === (await list(there)).tag)
      const { tag } = await list(here)
      assert.notEqual(tag.split('-')[0], lost.tag.split('-')[0])
      const again = await here.call('/configurations/', {
        headers: { authorization, 'if-none-match': lost.tag },
      })
      assert.equal(again.status, 200)
      await reader.until('event: reset\n')
      await add(there, 'e')
      await reader.until('"name":"e"')
    })
})
