import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import {
  HOSTNAME_CHARACTERS_MAX,
  NAME_CHARACTERS_MAX,
  UNSTREAMED_BYTES_MAX,
  USERNAME_CHARACTERS_MAX,
} from '../../../src/limits.ts'
import { HELD_STALLED_MS } from '../../../src/server/held-bytes.ts'
import type { Change } from '../../../src/store/change.ts'
import { Configuration } from '../../../src/store/configuration.ts'
import { fieldsOf } from '../../bench/data-folders.ts'
import { logIn } from '../../support/api.ts'
import { admin } from '../../support/service.ts'
import { type AttackedServer, measure, P99_MS_MAX, REQUESTS, startAttacked } from './attacked-server.ts'
import { OtherCaller } from './other-caller.ts'

const LOOK_MS = 100
/** A character of a name takes three bytes; 100 bytes are the rest of the JSON. */
const MAXIMAL_RECORD_BYTES = 3 * NAME_CHARACTERS_MAX + HOSTNAME_CHARACTERS_MAX + USERNAME_CHARACTERS_MAX + 100
const ATTACK_MS = 15_000
/** Connections that take nothing of a streamed list: they hold more than may wait on any machine. */
const TOO_MANY = 800
const AFTER_MS = 5_000

interface Scenario {
  readonly connections: number
  readonly records: number
  /** Whether the fields of the records are as long as they may be. */
  readonly areMaximal: boolean
  readonly mebibytesMax: number
}

const scenarios: Record<string, Scenario> = {
  'the longest list that is sent in one piece': {
    connections: 2_000,
    records: Math.floor(UNSTREAMED_BYTES_MAX / MAXIMAL_RECORD_BYTES),
    areMaximal: true,
    mebibytesMax: 400,
  },
  'a streamed list of long records': {
    connections: 600,
    records: 1_000,
    areMaximal: true,
    mebibytesMax: 400,
  },
  'a streamed list of 100,000 records': {
    connections: 600,
    records: 100_000,
    areMaximal: false,
    mebibytesMax: 400,
  },
}

/** Makes every record but the first as long as it may be. */
function lengthenAll(count: number): Change[] {
  return Array.from({ length: count - 1 }, (_, i) => {
    const { name, port } = fieldsOf(i + 2)
    const fields = {
      name: name.padEnd(NAME_CHARACTERS_MAX, '\u4e2d'),
      hostname: Array(HOSTNAME_CHARACTERS_MAX)
        .fill('a')
        .join('')
        .replace(/(.{60})./g, '$1.'),
      port,
      username: 'u'.repeat(USERNAME_CHARACTERS_MAX),
    }
    return { modify: new Configuration(i + 2, fields), name }
  })
}

/** Looks at the memory until `stop`, which returns the highest figure in MiB. */
function watchMemory(server: AttackedServer) {
  let highest = 0
  const timer = setInterval(() => {
    highest = Math.max(highest, server.memory())
  }, LOOK_MS)
  return {
    stop() {
      clearInterval(timer)
      return highest
    },
  }
}

/**
 * Requests the whole list, and takes only its beginning.
 *
 * @returns What takes the rest, and says whether the answer was whole.
 */
async function beginList(url: string): Promise<() => Promise<boolean>> {
  const { hostname, port } = new URL(url)
  const headers = await logIn(url, admin)
  const outgoing = request({ hostname, port, agent: false, path: '/configurations/', headers }).end()
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  const ended = new Promise((resolve) => incoming.once('close', resolve))
  incoming.on('error', () => {})
  return async () => {
    incoming.resume()
    await ended
    return incoming.complete
  }
}

describe('answers that nobody takes', () => {
  for (const [what, { connections, records, areMaximal, mebibytesMax }] of Object.entries(scenarios)) {
    it(`do not fill the memory, and nobody else waits: ${what}`, async (t) => {
      const changes = areMaximal ? lengthenAll(records) : []
      const server = await startAttacked(t, { records, changes })
      const other = await OtherCaller.logIn(server.url, 'record-1')
      t.after(() => other.close())
      await other.work(10)
      const before = server.memory()
      const watch = watchMemory(server)
      const attack = await server.attack('takingNothing', connections)
      const [during] = await Promise.all([measure(t, other, REQUESTS, P99_MS_MAX), pause(ATTACK_MS)])
      const highest = watch.stop()
      const tally = await attack.stop()
      await pause(AFTER_MS)
      const left = server.memory()
      const after = await measure(t, other, REQUESTS, P99_MS_MAX)
      t.diagnostic(
        `${before.toFixed()} MiB before, ${highest.toFixed()} during, ${left.toFixed()} after; ${JSON.stringify(tally)}`,
      )
      assert.deepEqual([...during.failures, ...after.failures], [])
      assert.ok(during.servedP99 < P99_MS_MAX, `p99 is ${during.servedP99} ms during the attack`)
      assert.ok(after.servedP99 < P99_MS_MAX, `p99 is ${after.servedP99} ms after the attack`)
      assert.ok(Math.max(highest, left) < mebibytesMax, `${highest} MiB, ${left} MiB after the attack`)
      assert.ok((tally.opened ?? 0) >= connections, `this was no attack: ${JSON.stringify(tally)}`)
    })
  }
  it('do not cost another account its own, however long it has not taken it', async (t) => {
    const server = await startAttacked(t, { records: 100_000 })
    const takeRest = await beginList(server.url)
    await server.attack('takingNothing', TOO_MANY)
    while (!server.stderr().includes('"connection_cut_off"')) await pause(LOOK_MS)
    await pause(HELD_STALLED_MS + AFTER_MS)
    assert.ok(await takeRest(), 'the rest of the answer did not come')
  })
})
