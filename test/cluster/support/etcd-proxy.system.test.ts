import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { eventually } from '../../support/eventually.ts'
import { holdTimers } from '../../support/held-timers.ts'
import { createRandom } from '../../support/random.ts'
import { missingEtcd, startEtcd } from './etcd.ts'
import { createEtcdClient } from './etcd-client.ts'
import { startEtcdProxy } from './etcd-proxy.ts'

const PUT = '/v3/kv/put'

async function setUp(t: Parameters<typeof startEtcd>[0]) {
  const cluster = await startEtcd(t)
  const [url = ''] = cluster.urls
  const proxy = await startEtcdProxy(t, url)
  return { direct: cluster.client(), proxy, client: createEtcdClient(proxy.url) }
}

describe('a proxy before a member', { skip: missingEtcd }, () => {
  it('loses answers to changes that are done, a share of them that its seed decides', async (t) => {
    const { direct, proxy, client } = await setUp(t)
    const lost: string[] = []
    const random = createRandom(1)
    proxy.lose({ path: PUT, share: 0.2, random, onLoss: (body) => lost.push(body) })
    const outcomes: string[] = []
    for (let i = 0; i < 50; i++)
      outcomes.push(
        await client.put(`/${i}`, 'x').then(
          () => 'ok',
          ({ code }) => code,
        ),
      )
    const cut = outcomes.filter((outcome) => outcome === 'ECONNRESET').length
    assert.ok(cut > 2 && cut < 25, `${cut} lost`)
    assert.deepEqual(
      [outcomes.length - outcomes.filter((each) => each === 'ok').length, lost.length],
      [cut, cut],
    )
    assert.deepEqual([(await direct.list('/')).length, proxy.count(PUT)], [50, 50])

    proxy.lose({ path: PUT, share: 1, random, when: 'before' })
    await assert.rejects(client.put('/never', 'x'), { code: 'ECONNRESET' })
    proxy.lose({ path: PUT, share: 1, random, when: 'within' })
    await assert.rejects(client.put('/half', 'x'))
    assert.deepEqual([await direct.get('/never'), (await direct.get('/half'))?.value], [undefined, 'x'])
    proxy.lose({ path: PUT, share: 1, random, when: 'late' })
    await assert.rejects(client.put('/late', 'x'), { code: 'ECONNRESET' })
    await proxy.drained()
    assert.equal((await direct.get('/late'))?.value, 'x')
  })

  it('holds everything back while it is silent, streams included', async (t) => {
    const { direct, proxy, client } = await setUp(t)
    const stop = new AbortController()
    const body = JSON.stringify({ create_request: { key: 'L2E=' } })
    const watch = await fetch(`${proxy.url}/v3/watch`, { method: 'POST', body, signal: stop.signal })
    const reader = watch.body?.pipeThrough(new TextDecoderStream()).getReader() ?? assert.fail()
    assert.match(String((await reader.read()).value), /created/)
    proxy.hush()
    const [event, put] = [reader.read(), client.put('/b', 'x')]
    await direct.put('/a', 'x')
    assert.equal(await direct.get('/b'), undefined)
    assert.equal(await Promise.race([event, put, new Promise((resolve) => setImmediate(resolve))]), undefined)
    proxy.speak()
    assert.match(String((await event).value), /events/)
    assert.equal(await put, 3)
    stop.abort()
  })

  it('refuses and breaks connections', async (t) => {
    const { proxy, client } = await setUp(t)
    proxy.hush()
    const held = client.revision()
    await eventually('it has the request', () => proxy.count() === 1)
    await proxy.refuse()
    await assert.rejects(held, { code: 'ECONNRESET' })
    await assert.rejects(client.revision(), { code: 'ECONNREFUSED' })
    proxy.speak()
    await proxy.accept()
    assert.equal(await client.revision(), 1)
  })

  it('delays, and splits answers anywhere', async (t) => {
    const { direct, proxy, client } = await setUp(t)
    await direct.put('/a', 'a long value with an ü')
    proxy.split(1)
    assert.deepEqual(await client.get('/a'), await direct.get('/a'))
    const tick = holdTimers(t)
    proxy.delay({ requestMs: 20, answerMs: 30 })
    let [isAnswered, ms] = [false, 0]
    const answer = client.revision().finally(() => {
      isAnswered = true
    })
    for (; !isAnswered; ms++) {
      tick(1)
      await turnOfEventLoop()
    }
    assert.ok(ms >= 50, `${ms}`)
    assert.equal(await answer, await direct.revision())
  })
})
