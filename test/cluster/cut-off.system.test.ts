import '../support/node-version.ts'
import '../support/light-argon2.ts'
import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { readEvents } from '../support/event-reader.ts'
import { eventually } from '../support/eventually.ts'
import { draft } from '../support/store.ts'
import { missingEtcd, startEtcd } from './support/etcd.ts'
import { startEtcdProxy } from './support/etcd-proxy.ts'
import { jumpAhead } from './support/jump-ahead.ts'
import { nodePlace, startNode } from './support/node.ts'

const MIB = 1024 * 1024

async function codeOf(answer: Response): Promise<string> {
  const { type = '' } = (await answer.json()) as { type?: string }
  return `${answer.status} ${type.split(':').at(-1)}`
}

describe('a node that is cut off from etcd', { skip: missingEtcd }, async () => {
  const { members, urls } = await startEtcd({ after }, 1)

  it('answers reads for a while, then nothing that needs the state; back, it knows what has ended meanwhile', async (t) => {
    const proxy = await startEtcdProxy(t, members[0]?.url ?? '')
    const place = await nodePlace(t, [proxy.url])
    const node = await startNode(t, place, { flags: ['--max-staleness', '60s'] })
    const other = await startNode(t, { ...place, etcd: urls })
    const headers = { cookie: await node.cookie() }
    const body = JSON.stringify(draft('a'))
    assert.equal((await node.call('/configurations/', { method: 'POST', headers, body })).status, 200)
    const read = (more = {}) => node.call('/configurations/a', { headers: { ...headers, ...more } })
    const ready = async (query = '') => (await node.call(`/readyz${query}`)).status
    assert.equal((await read({ 'cache-control': 'no-cache' })).status, 200)

    await proxy.refuse()
    assert.equal(await codeOf(await read({ 'cache-control': 'no-cache' })), '503 storage_unavailable')
    await eventually('changes are not expected any more', async () => (await ready()) === 503)
    assert.deepEqual([await ready('?reads=1'), (await read()).status], [200, 200])
    const ended = await other.call('/logout', { method: 'POST', headers })
    assert.equal(ended.status, 200)
    assert.equal((await read()).status, 200)
    jumpAhead(t, 60_000)
    assert.equal(await ready('?reads=1'), 503)
    assert.equal(await codeOf(await read()), '503 storage_unavailable')
    assert.equal((await node.call('/healthz')).status, 200)

    await proxy.accept()
    await eventually('it is ready again', async () => (await ready()) === 200)
    assert.equal(await codeOf(await read()), '403 not_authenticated')
    assert.equal((await read({ cookie: await node.cookie() })).status, 200)
  })

  it('ends event streams and waiting reads once it answers no reads any more; later, a stream goes on where it ended', async (t) => {
    const proxy = await startEtcdProxy(t, members[0]?.url ?? '')
    const place = await nodePlace(t, [proxy.url])
    const node = await startNode(t, place, { flags: ['--max-staleness', '30s'] })
    const other = await startNode(t, { ...place, etcd: urls })
    const headers = { authorization: await node.bearer() }
    const add = async (name: string) => {
      const body = JSON.stringify(draft(name))
      assert.equal((await other.call('/configurations/', { method: 'POST', headers, body })).status, 200)
    }
    const stream = await readEvents(t, node.url, headers)
    await add('a')
    const [told] = await stream.take(1)
    const tagOf = async (path: string) => (await node.call(path, { headers })).headers.get('etag') ?? ''
    const wait = async (path: string) => {
      const seen = { 'if-none-match': await tagOf(path), prefer: 'wait=60' }
      return node.call(path, { headers: { ...headers, ...seen } })
    }
    const paths = ['/configurations/', '/configurations/?name=a', '/configurations/a']
    const polls = paths.map(wait)
    await eventually('all three wait', async () => {
      const shown = await (await node.call('/metrics', { headers })).text()
      return /^connbook_waiting_polls 3$/m.test(shown)
    })

    await proxy.refuse()
    await add('b')
    jumpAhead(t, 30_000)
    for (const poll of polls) {
      const answer = await poll
      assert.equal(answer.headers.get('retry-after'), '5')
      assert.equal(await codeOf(answer), '503 storage_unavailable')
    }
    await stream.ended
    assert.equal(stream.answer.complete, true)
    assert.equal((await readEvents(t, node.url, headers)).status, 503)

    await proxy.accept()
    await eventually('reads are answered again', async () => {
      return (await node.call('/readyz?reads=1')).status === 200
    })
    const next = await readEvents(t, node.url, { ...headers, 'last-event-id': told?.id ?? '' })
    const [missed] = await next.take(1)
    assert.deepEqual([missed?.event, missed?.data.configuration?.name], ['added', 'b'])
  })

  it('never answers older than what was acknowledged elsewhere, if it is asked for that', async (t) => {
    const proxy = await startEtcdProxy(t, members[0]?.url ?? '')
    const place = await nodePlace(t, [proxy.url])
    const slow = await startNode(t, place)
    const other = await startNode(t, { ...place, etcd: urls })
    const headers = { authorization: await other.bearer() }
    // Where all is slow it may also say that it does not know.
    const readNewest = async () => {
      for (;;) {
        const answer = await slow.call('/configurations/a', {
          headers: { ...headers, 'cache-control': 'no-cache' },
        })
        if (answer.status !== 503) return answer
        await answer.body?.cancel()
      }
    }
    proxy.delay({ answerMs: 30 })
    await other.call('/configurations/', { method: 'POST', headers, body: JSON.stringify(draft('a')) })
    for (let port = 1; port <= 40; port++) {
      const body = JSON.stringify({ port })
      assert.equal((await other.call('/configurations/a', { method: 'PATCH', headers, body })).status, 200)
      const { configurations } = (await (await readNewest()).json()) as { configurations: [{ port: number }] }
      assert.equal(configurations[0].port, port)
    }
  })
})

describe('a node whose etcd is full', { skip: missingEtcd }, () => {
  it('refuses changes with 507 and answers reads; with room again, it goes on without a restart', async (t) => {
    const etcd = await startEtcd(t, 1, { args: ['--quota-backend-bytes', String(2 * MIB)] })
    const node = await startNode(t, await nodePlace(t, etcd.urls))
    const headers = { authorization: await node.bearer() }
    const add = (name: string) =>
      node.call('/configurations/', { method: 'POST', headers, body: JSON.stringify(draft(name)) })
    assert.equal((await add('a')).status, 200)
    const client = etcd.client()
    for (let i = 0; ; i++) {
      const filled = await client.put(`/filler/${i}`, 'x'.repeat(MIB / 4)).then(
        () => false,
        () => true,
      )
      if (filled) break
    }
    for (let i = 0; i < 3; i++) assert.equal(await codeOf(await add('b')), '507 storage_full')
    const ready = async (query = '') => (await node.call(`/readyz${query}`)).status
    assert.deepEqual([await ready(), await ready('?reads=1')], [503, 200])
    assert.equal(node.log.events.filter((event) => event === 'cluster_changes_refused').length, 1)
    assert.equal((await node.call('/configurations/a', { headers })).status, 200)
    assert.equal((await node.call('/configurations/b', { headers })).status, 404)
    await client.removeAll('/filler/')
    await client.compact()
    await client.defragment()
    await client.disarm()
    await eventually('it is ready without a change of anybody', async () => (await ready()) === 200)
    assert.ok(node.log.events.includes('cluster_changes_accepted_again'))
    assert.equal((await add('b')).status, 200)
  })
})
