import type { Endpoint } from './endpoint.ts'

/** A server on this machine answers sooner. */
const PROBE_MS = 1_000

/** Whether a port speaks TLS, whatever its certificate says; false also if nobody answers in time. Nothing is sent. */
export async function speaksTls({ at }: Pick<Endpoint, 'at'>): Promise<boolean> {
  if ('socketPath' in at) return false
  const { connect } = process.getBuiltinModule('node:tls')
  const { promise, resolve } = Promise.withResolvers<boolean>()
  // Not verified: it is asked only what it speaks.
  const socket = connect({ host: at.hostname, port: at.port, rejectUnauthorized: false, timeout: PROBE_MS })
  socket.once('secureConnect', () => resolve(true))
  for (const event of ['error', 'timeout', 'close']) socket.on(event, () => resolve(false))
  try {
    return await promise
  } finally {
    socket.destroy()
  }
}
