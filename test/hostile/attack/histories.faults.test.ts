import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { IMPORT_AUDITED_RECORDS_MAX, LABELS_MAX } from '../../../src/limits.ts'
import { createClient } from '../../support/http-client.ts'
import { measure, P99_MS_MAX, REQUESTS, startAttacked } from './attacked-server.ts'
import { OtherCaller } from './other-caller.ts'

/** Each import writes some 8 MB of changed labels into the audit trail. */
const IMPORTS = 7

function fileOf(turn: number): string {
  const labels = Object.fromEntries(
    Array.from({ length: LABELS_MAX }, (_, i) => [`key-${i}`, `${turn} `.padEnd(110, 'x')]),
  )
  const rows = Array.from({ length: IMPORT_AUDITED_RECORDS_MAX }, (_, i) => ({
    ...{ name: `record-${i + 1}`, hostname: 'host.example', port: 22, username: 'ops' },
    labels,
  }))
  return rows.map((row) => JSON.stringify(row)).join('\n')
}

describe('the history of a record', () => {
  it('does not wait for histories with filters that another one reads again and again', async (t) => {
    const server = await startAttacked(t, { records: IMPORT_AUDITED_RECORDS_MAX })
    const ask = createClient(server.url, { Authorization: server.bearer })
    for (let turn = 1; turn <= IMPORTS; turn += 1) {
      const { status } = await ask('POST', '/v1/import?format=jsonl', { body: fileOf(turn) })
      assert.equal(status, 200)
    }
    // It is among the last lines.
    const path = `/v1/history/record-${IMPORT_AUDITED_RECORDS_MAX}?limit=1`
    const caller = await OtherCaller.asking(server.url, path)
    t.after(() => caller.close())
    assert.deepEqual((await caller.work(10)).failures, [])

    const running = await server.attack('questions', 2, [{ path: '/v1/history?limit=1&name=nothing' }])
    const { failures, servedP99 } = await measure(t, caller, REQUESTS, P99_MS_MAX)
    const tally = await running.stop()
    t.diagnostic(`the attack: ${JSON.stringify(tally)}`)

    assert.deepEqual(failures, [])
    assert.ok(servedP99 < P99_MS_MAX, `p99 is ${servedP99} ms`)
    assert.deepEqual(Object.keys(tally), ['200'])
  })
})
