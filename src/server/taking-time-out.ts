import type { Socket } from 'node:net'
import { TAKING_TIMEOUT_MS } from '../limits.ts'

/**
 * Destroys a connection in TAKING_TIMEOUT_MS, unless the function returned is called: the client has read everything.
 * Node's own time-out costs every request, and restarts when the client sends something.
 */
export function limitTaking(socket: Socket): () => void {
  const timer = setTimeout(() => socket.destroy(), TAKING_TIMEOUT_MS)
  return () => clearTimeout(timer)
}
