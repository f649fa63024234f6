import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { systemCode } from '../../src/errors.ts'

/** Below the ports that Linux gives to whoever asks for any (`ip_local_port_range`), so that nobody is given one meanwhile. */
const [PORT_MIN, PORT_MAX] = [10_000, 29_999]

/** Never given twice by this process. */
const given = new Set<number>()

/**
 * A port of the loopback interface on which nobody listens, for a program that must be told its port. The others listen
 * on port 0.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORT_MIN, PORT_MAX + 1)
    if (given.has(port) || !(await isFree(port))) continue
    given.add(port)
    return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    if (systemCode(error) === 'EADDRINUSE') return false
    throw error
  }
  server.close()
  await once(server, 'close')
  return true
}
