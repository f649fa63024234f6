import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { getToken } from '../support/api.ts'
import type { Ask } from '../support/http-client.ts'
import { client } from '../support/service.ts'
import { draft } from '../support/store.ts'
import type { Lifetime } from '../support/temporary-folder.ts'
import { sendUnderLoad } from './keep-alive.ts'
import { keepConnections, Outcomes } from './load.ts'
import { noNginx } from './nginx.ts'
import { type Change, type PublishedSite, startPublishedSite } from './published-site.ts'
import { readTcpConnections } from './tcp-connections.ts'

/** For each of nginx's two workers. */
const KEPT_BY_NGINX = 16

const IDLING_CLIENTS = 30
const IDLING_ADDS = 5
/** Around nginx's keep-alive time, so that some connections are used just as they expire. */
const IDLING_SPREAD_MS = 600

describe('nginx with keep-alive connections to connbook', { skip: noNginx }, () => {
  it('never answers 502 under load', async (t) => {
    const site = await startPublishedSite(t)
    const clients = await sendUnderLoad(t, site)
    await assertUntroubled(site)

    const kept = await readTcpConnections(site.port)
    assert.ok(kept.open.size > 0 && kept.open.size <= 2 * KEPT_BY_NGINX, `${kept.open.size} kept`)
    for (const ask of clients.slice(0, 10)) await ask('GET', '/healthz')
    const used = await readTcpConnections(site.port)
    assert.deepEqual([...used.open.difference(kept.open)], [], 'another connection was made')
  })

  it('never answers 502 after a pause, if it keeps them for 1 s and 8 requests', async (t) => {
    const kept = 'keepalive 16;'
    await idle(t, 1_000, [[kept, `${kept} keepalive_timeout 1s; keepalive_requests 8;`]])
  })

  it('never answers 502 after a pause of a minute, if it keeps them as long', async (t) => {
    await idle(t, 60_000, [])
  })
})

/** Lets clients pause for about as long as nginx keeps an idle connection, then send again. */
async function idle(t: Lifetime, keptMs: number, changes: readonly Change[]): Promise<void> {
  const site = await startPublishedSite(t, { changes })
  const headers = await getToken(site.url, client)
  const outcomes = new Outcomes()
  const clients = keepConnections(t, site.url, headers, IDLING_CLIENTS)
  const add = async (ask: Ask, i: number, when: string) => {
    for (let count = 0; count < IDLING_ADDS; count += 1) {
      const body = draft(`${i} ${when} ${count}`)
      await outcomes.add(ask('POST', '/configurations/', { body }))
    }
  }
  await Promise.all(clients.map((ask, i) => add(ask, i, 'before')))
  assert.ok((await readTcpConnections(site.port)).open.size > 0, 'no connection is idle')
  await Promise.all(
    clients.map(async (ask, i) => {
      await pause(keptMs + IDLING_SPREAD_MS * (i / IDLING_CLIENTS - 0.5))
      await add(ask, i, 'after')
    }),
  )
  assert.deepEqual(outcomes.counts, { 200: IDLING_CLIENTS * IDLING_ADDS * 2 })
  await assertUntroubled(site)
}

/** nginx met no failure, and connbook closed no connection first, because such a close may cross a request. */
async function assertUntroubled({ nginx, port }: PublishedSite): Promise<void> {
  assert.deepEqual(await nginx.upstreamErrors(), [])
  assert.equal((await readTcpConnections(port)).closedByServer, 0)
}
