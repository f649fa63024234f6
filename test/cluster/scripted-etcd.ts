import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Lifetime } from '../support/temporary-folder.ts'

/** A call that a member got. */
export interface EtcdCall {
  readonly path: string
  readonly body: string
  readonly headers: IncomingMessage['headers']
}

/** A member that answers what a test says. */
export interface ScriptedEtcd {
  readonly url: string
  /** All that came, in order. */
  readonly calls: readonly EtcdCall[]
  /** How many connections were made. */
  readonly connections: number
  answer: (call: EtcdCall, response: ServerResponse) => void | Promise<void>
}

export async function startScriptedEtcd(t: Lifetime, answer: ScriptedEtcd['answer']): Promise<ScriptedEtcd> {
  const calls: EtcdCall[] = []
  let connections = 0
  const server = createServer(async (incoming, response) => {
    const body = Buffer.concat(await incoming.toArray()).toString()
    const call = { path: incoming.url ?? '', body, headers: incoming.headers }
    calls.push(call)
    await member.answer(call, response)
  })
  server.on('connection', (socket) => {
    connections += 1
    socket.setNoDelay()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const member = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    get connections() {
      return connections
    },
    answer,
  }
  return member
}

/** Answers as etcd refuses. @param code Of gRPC. */
export function refuse(response: ServerResponse, status: number, message: string, code: number): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ error: message, message, code }))
}
