import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { noCaddy, startCaddySite } from './caddy.ts'
import { addThroughRestarts, CLIENTS, RESTARTS, readMeanwhile } from './restarts.ts'

describe('connbook restarted behind Caddy', { skip: noCaddy }, () => {
  it('fails no read, as Caddy waits for it; a change that is not answered with 200 is not made', async (t) => {
    const site = await startCaddySite(t, { flags: ['--access-log'] })
    const { done: changes, reads } = await readMeanwhile(t, site, () => addThroughRestarts(t, site))
    assert.deepEqual(Object.keys(reads), ['200'])
    // Up to Caddy 2.11.1, a retry loses the body, once per restart and client; without waiting, failures would be many more.
    assert.ok((changes[502] ?? 0) <= 2 * CLIENTS * RESTARTS, `${changes[502]} answered 502`)
  })
})
