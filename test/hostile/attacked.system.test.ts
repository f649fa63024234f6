import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { logIn } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { createClient } from '../support/http-client.ts'
import { admin } from '../support/service.ts'
import { draft } from '../support/store.ts'
import { startAttacked } from './attack/attacked-server.ts'

const RECORDS = 2_000
/** So many for each kind of attack. */
const CONNECTIONS = 4
/** Kinds of attack that keep their connections open, whatever the server does. */
const HOLDING_KINDS = 4
const TURNS = 2
/** The address of a caller who is not the attacker. */
const OTHER_ADDRESS = '127.0.0.2'

/** What a server counts of itself at the moment. */
async function gauges(url: string, headers: { readonly Cookie: string }) {
  const { text } = await createClient(url, headers)('GET', '/metrics')
  const read = (name: string) =>
    Number(new RegExp(`^connbook_${name} (\\S+)$`, 'm').exec(text)?.[1] ?? assert.fail(name))
  return {
    connections: read('http_connections'),
    inFlight: read('http_requests_in_flight'),
    streams: read('event_streams'),
    polls: read('waiting_polls'),
  }
}

// How long others wait is measured at full length, in attack/.
describe('under attacks of many kinds at once', () => {
  it('nobody else is refused, and nothing of the attacks is left once their clients have gone', async (t) => {
    const server = await startAttacked(t, { records: RECORDS })
    const headers = await logIn(server.url, admin)
    const before = await gauges(server.url, headers)
    const attack = await server.attack('mixed', CONNECTIONS)
    await eventually('they take place', async () => {
      const { connections, streams, polls } = await gauges(server.url, headers)
      return connections >= HOLDING_KINDS * CONNECTIONS && streams > 0 && polls > 0
    })

    const ask = createClient(server.url, headers)
    for (let turn = 0; turn < TURNS; turn += 1) {
      const answers = [
        await ask('GET', '/healthz'),
        await ask('GET', '/configurations/record-1'),
        await ask('GET', '/configurations/?q=record-1&page=0&per_page=20'),
        await ask('POST', '/configurations/', { body: draft(`mine ${turn}`) }),
        await createClient(server.url, {}, { localAddress: OTHER_ADDRESS })('POST', '/login', {
          body: admin,
        }),
      ]
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 200, 200, 200],
      )
    }

    await eventually('logins of the attack are answered', async () => ((await attack.tally())[401] ?? 0) > 0)
    t.diagnostic(JSON.stringify(await attack.stop()))
    await eventually('nothing of them is left', async () => {
      const { connections, ...rest } = await gauges(server.url, headers)
      return (
        connections <= before.connections &&
        JSON.stringify(rest) === JSON.stringify({ inFlight: before.inFlight, streams: 0, polls: 0 })
      )
    })
    assert.equal(server.process.exitCode, null)
  })
})
