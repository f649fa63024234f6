import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { Connections } from '../../src/server/connections.ts'
import { HeldBytes } from '../../src/server/held-bytes.ts'
import { Intake } from '../../src/server/intake.ts'
import { KeptVersions } from '../../src/server/kept-versions.ts'
import type { ListenerParts } from '../../src/server/listener-parts.ts'
import { RequestMetrics } from '../../src/server/request-metrics.ts'
import { holdTurns } from '../support/held-turns.ts'
import { createMemoryLog } from '../support/memory-log.ts'

/** The parts of a listener with one connection, from the peer's `address`; the test gives the turns. */
export function oneConnection(t: TestContext, address = '192.0.2.1') {
  const socket = new Socket()
  t.after(() => void socket.destroy())
  Object.defineProperty(socket, 'remoteAddress', { value: address })
  const connections = new Connections(10, () => assert.fail('there is room'))
  connections.add(socket)
  const { scheduler, takeTurns, callers } = holdTurns()
  const waiting = new HeldBytes(1024 * 1024, connections, () => assert.fail('there is room'), 'requests')
  const parts = {
    connections,
    intake: new Intake(connections, waiting, scheduler),
    metrics: new RequestMetrics(),
    scheduler,
    untaken: new HeldBytes(0, connections, () => assert.fail('nothing is held'), 'answers'),
    arriving: new HeldBytes(0, connections, () => assert.fail('nothing is held'), 'bodies'),
    kept: new KeptVersions(0, connections, () => assert.fail('nothing is kept')),
    log: createMemoryLog(),
    fixedHeaders: ['X-Fixed', 'yes'],
    nameRequest: () => 'r1',
    cutOff: () => assert.fail('nothing is cut off'),
  } satisfies ListenerParts
  return {
    socket,
    connection: connections.of(socket) ?? assert.fail('just added'),
    parts,
    takeTurns,
    callers,
  }
}
