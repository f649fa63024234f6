import { Socket } from 'node:net'
import type { TestContext } from 'node:test'
import type { Principal } from '../../src/http/message.ts'
import { WRITE_SCOPE } from '../../src/http/scope.ts'
import { type Connection, Connections } from '../../src/server/connections.ts'
import { HeldBytes } from '../../src/server/held-bytes.ts'
import type { IncomingRequest } from '../../src/server/incoming-request.ts'
import { UNTAKEN_CHARACTER_BYTES } from '../../src/server/reply.ts'

/** Connections whose sockets hold as many bytes as a test says, and those that were cut off, in order. */
export function holders(t: TestContext, max: number) {
  const connections = new Connections(1_000, () => {})
  const cut: Socket[] = []
  const reasons: string[] = []
  const cutOff = ({ socket }: Connection, reason: string) => {
    cut.push(socket)
    reasons.push(reason)
  }
  const untaken = new HeldBytes(max, connections, cutOff, 'answers that nobody has taken')
  return { untaken, open, cut, reasons }

  /** @param caller The name of an account; without it the request has only an address. */
  function open({ holds, caller }: { holds: number; caller?: string }) {
    const socket = new Socket()
    t.after(() => void socket.destroy())
    Object.defineProperty(socket, 'writableLength', { value: holds / UNTAKEN_CHARACTER_BYTES })
    connections.add(socket, '192.0.2.1')
    const principal: Principal | undefined =
      caller === undefined ? undefined : { kind: 'user', name: caller, scope: WRITE_SCOPE }
    const request = { response: { req: { socket } }, principal, address: '192.0.2.1' }
    return { socket, request: request as unknown as IncomingRequest }
  }
}
