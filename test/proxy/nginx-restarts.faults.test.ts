import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { getToken } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { createClient } from '../support/http-client.ts'
import { client } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { Outcomes } from './load.ts'
import { noNginx } from './nginx.ts'
import { startPublishedSite } from './published-site.ts'
import { addThroughRestarts } from './restarts.ts'

const RELOADS = 20

describe('connbook restarted behind nginx', { skip: noNginx }, () => {
  it('finishes the requests it has begun; a change that is not answered with 200 is not made', async (t) => {
    await addThroughRestarts(t, await startPublishedSite(t, { flags: ['--access-log'] }))
  })
})

describe('nginx', { skip: noNginx }, () => {
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
})
