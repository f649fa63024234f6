import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { IMPORT_BYTES_MAX, USERNAME_CHARACTERS_MAX } from '../../src/limits.ts'
import { getToken } from '../support/api.ts'
import { createClient } from '../support/http-client.ts'
import { client } from '../support/service.ts'
import { noHaproxy, startHaproxySite } from './haproxy.ts'
import { checkImports, rowsOf } from './long-import.ts'

const ROWS = 100_000
const PAUSE_MS = 2_500

describe('connbook behind HAProxy', { skip: noHaproxy }, () => {
  it('takes the longest import, and refuses one that is too long', async (t) => {
    await checkImports(await startHaproxySite(t), ROWS, IMPORT_BYTES_MAX)
  })

  it('gives a long list to a client that pauses for longer than `timeout server`', async (t) => {
    const [retries, check] = ['    retries 5\n', '    timeout server 1s\n']
    const site = await startHaproxySite(t, { changes: [[retries, `${retries}${check}`]] })
    const headers = await getToken(site.url, client)
    const body = rowsOf(ROWS, 'u'.repeat(USERNAME_CHARACTERS_MAX - 3))
    // Past HAProxy, because an import may take longer than that.
    const imported = await createClient(site.server.url, headers)('POST', '/v1/import?format=csv', { body })
    assert.equal(imported.status, 200, imported.text)
    const asking = request(`${site.url}/configurations/`, {
      headers,
      rejectUnauthorized: false,
      agent: false,
    })
    asking.end()
    const [answer] = (await once(asking, 'response')) as [IncomingMessage]
    // The list is longer than all buffers on its way, so connbook waits, too.
    await pause(PAUSE_MS)
    const list = Buffer.concat(await answer.toArray()).toString()
    assert.equal((JSON.parse(list) as { configurations: unknown[] }).configurations.length, ROWS)
  })
})
