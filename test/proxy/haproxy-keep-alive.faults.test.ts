import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '../support/eventually.ts'
import type { Lifetime } from '../support/temporary-folder.ts'
import { noHaproxy, startHaproxySite } from './haproxy.ts'
import { sendUnderLoad } from './keep-alive.ts'
import { keepConnections } from './load.ts'
import type { Change } from './published-site.ts'
import { readTcpConnections } from './tcp-connections.ts'

const IDLING_CLIENTS = 30

describe('HAProxy with keep-alive connections to connbook', { skip: noHaproxy }, () => {
  it('never answers 502 under load', async (t) => {
    const site = await startHaproxySite(t)
    const clients = await sendUnderLoad(t, site)
    const kept = await readTcpConnections(site.port)
    const some = clients.slice(0, 10)
    for (const ask of [...some, ...some]) await ask('GET', '/healthz')
    const used = await readTcpConnections(site.port)
    assert.ok(used.open.intersection(kept.open).size >= some.length, 'other connections were made')
  })

  it('closes them together with those of the clients', async (t) => {
    await idle(t, 1_000, [['http-keep-alive 60s', 'http-keep-alive 1s']])
  })

  it('closes them after a minute, before connbook does', async (t) => {
    await idle(t, 60_000, [])
  })
})

/** Lets clients pause until HAProxy must have closed all connections, then send again. */
async function idle(t: Lifetime, keptMs: number, changes: readonly Change[]): Promise<void> {
  const site = await startHaproxySite(t, { changes })
  const clients = keepConnections(t, site.url, {}, IDLING_CLIENTS)
  const sendAll = () => Promise.all(clients.map(async (ask) => (await ask('GET', '/healthz')).status))
  const all = clients.map(() => 200)
  assert.deepEqual(await sendAll(), all)
  assert.ok((await readTcpConnections(site.port)).open.size >= IDLING_CLIENTS, 'a connection is not kept')
  await pause(keptMs)
  await eventually('no connection to connbook is left', async () => {
    return (await readTcpConnections(site.port)).open.size === 0
  })
  assert.deepEqual(await sendAll(), all)
}
