import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Lifetime } from '../../support/temporary-folder.ts'

/** Something that speaks HTTP on the loopback interface but is not connbook, until the test ends. @returns Its URL. */
export async function serveOther(t: Lifetime, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The same with one JSON answer to everything. */
export function serveJson(t: Lifetime, status: number, body: unknown, headers = {}): Promise<string> {
  return serveOther(t, (_, response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
  })
}

/** A problem as a connbook answers it. */
export function problemOf(status: number, type: string, detail: string, more = {}) {
  return { type: `urn:connbook:problem:${type}`, title: 'A title', status, detail, ...more }
}
