import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { getToken, logIn } from '../support/api.ts'
import { noOpenSsl } from '../support/certificate.ts'
import { eventually } from '../support/eventually.ts'
import { extent } from '../support/extent.ts'
import { createClient, namesIn } from '../support/http-client.ts'
import { admin, client } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { Outcomes } from './load.ts'
import { noNginx } from './nginx.ts'
import { startPublishedSite } from './published-site.ts'
import { addThroughRestarts } from './restarts.ts'
import { readTcpConnections } from './tcp-connections.ts'

const RELOADS = extent({ quick: 2, full: 20 })

describe('connbook restarted behind nginx', { skip: noNginx || noOpenSsl }, () => {
  it('finishes the requests it has begun; a change that is not answered with 200 is not made', async (t) => {
    await addThroughRestarts(t, await startPublishedSite(t, { flags: ['--access-log'] }))
  })
})

describe('nginx', { skip: noNginx || noOpenSsl }, () => {
  it('reloads its configuration without losing a request', async (t) => {
    const { url, nginx } = await startPublishedSite(t)
    const ask = createClient(url, await getToken(url, client))
    const outcomes = new Outcomes()
    let isOver = false
    t.after(() => {
      isOver = true
    })
    const asking = Promise.all(
      Array.from({ length: 4 }, async (_, i) => {
        for (let count = 0; !isOver; count += 1) {
          await outcomes.add(ask('POST', '/configurations/', { body: draft(`${i}/${count}`) }))
        }
      }),
    )
    for (let reload = 0; reload < RELOADS; reload += 1) {
      const before = await nginx.workers()
      nginx.process.kill('SIGHUP')
      await eventually('other workers have taken over', async () => {
        const workers = new Set(await nginx.workers())
        return workers.size > 0 && before.every((worker) => !workers.has(worker))
      })
    }
    isOver = true
    await asking
    assert.deepEqual(Object.keys(outcomes.counts), ['200'])
    assert.deepEqual(await nginx.upstreamErrors(), [])
  })

  it('restarts without harm to sessions or to connbook', async (t) => {
    const site = await startPublishedSite(t)
    const ask = createClient(site.url, await logIn(site.url, admin))
    let { nginx } = site
    for (const signal of ['SIGQUIT', 'SIGTERM'] as const) {
      assert.equal((await ask('POST', '/configurations/', { body: draft(signal) })).status, 200)
      assert.ok((await readTcpConnections(site.port)).open.size > 0)
      await nginx.stop(signal)
      await eventually('connbook has let go of the connections', async () => {
        return (await readTcpConnections(site.port)).open.size === 0
      })
      nginx = await site.startNginx()
    }
    assert.deepEqual(namesIn(await ask('GET', '/configurations/')), ['SIGQUIT', 'SIGTERM'])
    assert.deepEqual(await nginx.upstreamErrors(), [])
    assert.doesNotMatch(site.server.stderr(), /"level":"(warn|error)"/)
  })
})
