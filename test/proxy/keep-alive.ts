import assert from 'node:assert/strict'
import { getToken, pathOf } from '../support/api.ts'
import { type Ask, createClient, namesIn } from '../support/http-client.ts'
import { client } from '../support/service.ts'
import { draft } from '../support/store.ts'
import type { Lifetime } from '../support/temporary-folder.ts'
import { keepConnections, Outcomes } from './load.ts'
import type { Site } from './site-checks.ts'

const CLIENTS = 64
const ROUNDS = 150

/**
 * Adds, reads, changes and lists through a proxy, with many clients at once. Asserts that every answer is 200.
 *
 * @returns The clients, whose connections are still open.
 */
export async function sendUnderLoad(t: Lifetime, { url }: Site): Promise<Ask[]> {
  const headers = await getToken(url, client)
  const outcomes = new Outcomes()
  const names: string[] = []
  const clients = keepConnections(t, url, headers, CLIENTS)
  await Promise.all(
    clients.map(async (ask, i) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const name = `${i}/${round}`
        names.push(name)
        await outcomes.add(ask('POST', '/configurations/', { body: draft(name) }))
        await outcomes.add(ask('GET', pathOf(name)))
        await outcomes.add(ask('PATCH', pathOf(name), { body: { port: 23 } }))
        await outcomes.add(ask('GET', '/configurations/?sort=-name&page=0&per_page=10'))
      }
    }),
  )
  assert.deepEqual(outcomes.counts, { 200: CLIENTS * ROUNDS * 4 })
  const list = await createClient(url, headers)('GET', '/configurations/?sort=name')
  assert.deepEqual(namesIn(list), names.toSorted())
  return clients
}
