import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { Connection } from '../../src/server/connections.ts'
import { CUT_OFF_LOG_PAUSE_MS, createCutOff } from '../../src/server/listener-parts.ts'
import { RequestMetrics } from '../../src/server/request-metrics.ts'
import { createMemoryLog } from '../support/memory-log.ts'

describe('createCutOff', () => {
  it('closes and counts each connection, and logs that at a limited rate', (t) => {
    let now = 0
    t.mock.method(performance, 'now', () => now)
    const [log, metrics] = [createMemoryLog(), new RequestMetrics()]
    const cutOff = createCutOff(log, metrics)
    const cut = () => {
      const connection = new Connection(new Socket(), '192.0.2.1')
      cutOff(connection, 'there are too many')
      assert.ok(connection.socket.destroyed)
    }
    for (const moment of [0, 1, CUT_OFF_LOG_PAUSE_MS - 1]) {
      now = moment
      cut()
    }
    assert.deepEqual([metrics.cutOff.value, log.lines.length], [3, 1])
    now = CUT_OFF_LOG_PAUSE_MS
    cut()
    assert.deepEqual([metrics.cutOff.value, log.lines.length], [4, 2])
    const { level, event, address, reason } = JSON.parse(log.lines[0] ?? '')
    assert.deepEqual(
      [level, event, address, reason],
      ['warn', 'connection_cut_off', '192.0.2.1', 'there are too many'],
    )
  })
})
