import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

/** What becomes of a call: it is lost before etcd gets it, or its answer is. */
export type Loss = 'request' | 'answer' | undefined

export interface LossyProxy {
  readonly url: string
  /** Called for each transaction. */
  lose: () => Loss
}

/** HTTP to a member of etcd, which loses what a test wants to be lost by cutting the connection. */
export async function startLossyProxy(t: TestContext, member: string): Promise<LossyProxy> {
  const { hostname, port } = new URL(member)
  const server = createServer((incoming, outgoing) => {
    const loss = incoming.url === '/v3/kv/txn' ? proxy.lose() : undefined
    if (loss === 'request') return incoming.socket.destroy()
    const { method, url: path, headers } = incoming
    const passed = request({ hostname, port, method, path, headers }, (answer) => {
      if (loss === undefined) {
        outgoing.writeHead(answer.statusCode ?? 0, answer.headers)
        return answer.pipe(outgoing)
      }
      // Only now is it certain that etcd has done it.
      incoming.socket.destroy()
      return answer.resume()
    })
    passed.on('error', () => incoming.socket.destroy())
    outgoing.on('close', () => passed.destroy())
    return incoming.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const proxy: LossyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lose: () => undefined,
  }
  return proxy
}
