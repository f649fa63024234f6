import { once } from 'node:events'
import { createServer } from 'node:net'
import { createRandom } from '../../support/random.ts'

// Below those that systems give to outgoing connections: one that is free while its owner restarts is seldom taken.
const PORT_MIN = 10_000
const PORT_MAX = 32_000

const random = createRandom(process.pid ^ Date.now())

/** A free port of the loopback interface for somebody who will leave it and come back to it. */
export async function steadyPort(): Promise<number> {
  for (;;) {
    const port = random.integer(PORT_MIN, PORT_MAX)
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    const listening = once(server, 'listening')
    server.listen(port, '127.0.0.1')
    await listening
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
    throw error
  }
  const closed = once(server, 'close')
  server.close()
  await closed
  return true
}
