import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ListenOptions, type Server } from 'node:net'
import { systemCode } from '../../src/errors.ts'

/** Below the ports that Linux gives to whoever asks for any (`ip_local_port_range`), so that nobody is given one meanwhile. */
const [PORT_MIN, PORT_MAX] = [10_000, 29_999]

/** Held until this process ends, so that no other test process is given the port. Only Linux has such names. */
const claims: Server[] = []

/**
 * A port of the loopback interface on which nobody listens, for a program that must be told its port. The others listen
 * on port 0.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORT_MIN, PORT_MAX + 1)
    if ((await claim(port)) && (await isFree(port))) return port
  }
}

async function claim(port: number): Promise<boolean> {
  if (process.platform !== 'linux') return true
  const server = await listen({ path: `\0connbook-test-port-${port}` })
  if (server === undefined) return false
  claims.push(server.unref())
  return true
}

async function isFree(port: number): Promise<boolean> {
  const server = await listen({ port })
  if (server === undefined) return false
  server.close()
  await once(server, 'close')
  return true
}

/** @returns Nothing if somebody else listens there. */
async function listen(place: ListenOptions): Promise<Server | undefined> {
  const server = createServer().listen(place)
  try {
    await once(server, 'listening')
    return server
  } catch (error) {
    if (systemCode(error) === 'EADDRINUSE') return undefined
    throw error
  }
}
