import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** A port of the loopback interface on which nobody listens at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : assert.fail('no port')
}
