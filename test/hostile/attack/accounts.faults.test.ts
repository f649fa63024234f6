import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { GRANTS_MAX } from '../../../src/limits.ts'
import { logIn } from '../../support/api.ts'
import { createClient } from '../../support/http-client.ts'
import { admin } from '../../support/service.ts'
import { measure, P99_MS_MAX, REQUESTS, startAttacked } from './attacked-server.ts'
import { OtherCaller } from './other-caller.ts'

const ADDED_MAX = 100

/** As long as they may be in one body; stored, each character takes nine. */
function grantsOf(client: number): string[] {
  const labels = Array.from({ length: 4 }, (_, i) => `label=k${i}=${'€'.repeat(250)}`)
  return Array.from({ length: GRANTS_MAX }, (_, i) => `read?prefix=${client}-${i}&${labels.join('&')}`)
}

describe('a caller does not notice an admin', () => {
  it('who changes accounts that are as long as they may be', async (t) => {
    const server = await startAttacked(t, { records: 1_000 })
    const session = await logIn(server.url, admin)
    const ask = createClient(server.url, session)
    const statuses: number[] = []
    for (let i = 0; i < ADDED_MAX && statuses.at(-1) !== 409; i += 1) {
      const body = { name: `c${i}`, scope: 'read', grants: grantsOf(i) }
      statuses.push((await ask('POST', '/v1/clients/', { body })).status)
    }
    const caller = await OtherCaller.logIn(server.url, 'record-1')
    t.after(() => caller.close())
    const questions = ['c0', 'nobody'].flatMap((name) =>
      ['read', 'write'].map((scope) => ({
        ...{ method: 'PATCH', path: `/v1/clients/${name}`, headers: session },
        body: JSON.stringify({ scope }),
      })),
    )
    const running = await server.attack('questions', 2, questions)
    const { failures, servedP99 } = await measure(t, caller, REQUESTS, P99_MS_MAX)
    const tally = await running.stop()
    t.diagnostic(`${statuses.length} clients; the attack: ${JSON.stringify(tally)}`)

    assert.deepEqual(failures, [])
    assert.ok(servedP99 < P99_MS_MAX, `p99 is ${servedP99} ms`)
    assert.equal(statuses.at(-1), 409)
    assert.deepEqual(Object.keys(tally).sort(), ['200', '404'])
  })
})
