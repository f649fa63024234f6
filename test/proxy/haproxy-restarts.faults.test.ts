import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { noHaproxy, startHaproxySite } from './haproxy.ts'
import { addThroughRestarts, CLIENTS, RESTARTS, readMeanwhile } from './restarts.ts'

/** How a change may fail: on a connection that the client used before, HAProxy closes it instead of answering 502. */
const FAILURES = ['ECONNRESET', '502', '503']

describe('connbook restarted behind HAProxy', { skip: noHaproxy }, () => {
  it('fails no read, as HAProxy waits for it; a change that is not answered with 200 is not made', async (t) => {
    const site = await startHaproxySite(t, { flags: ['--access-log'] })
    const { done: changes, reads } = await readMeanwhile(t, site, () => addThroughRestarts(t, site, FAILURES))
    assert.deepEqual(Object.keys(reads), ['200'])
    const lost = FAILURES.reduce((sum, outcome) => sum + (changes[outcome] ?? 0), 0)
    // What was on its way; without waiting, failures would be many more.
    assert.ok(lost <= 2 * CLIENTS * RESTARTS, `${lost} lost`)
  })
})
