import type { Socket } from 'node:net'
import { TAKING_TIMEOUT_MS } from '../limits.ts'

/**
 * Destroys a connection whose client does not read what was written within TAKING_TIMEOUT_MS. Node's own time-out costs
 * every request, and restarts when the client sends something.
 *
 * @returns Call it when the client has read everything.
 */
export function limitTaking(socket: Socket): () => void {
  const timer = setTimeout(() => socket.destroy(), TAKING_TIMEOUT_MS)
  return () => clearTimeout(timer)
}
