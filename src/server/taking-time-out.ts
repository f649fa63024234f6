import type { Socket } from 'node:net'
import { TAKING_TIMEOUT_MS } from '../limits.ts'

/**
 * Destroys a connection whose client does not read an answer within TAKING_TIMEOUT_MS; the function returned cancels
 * that. Node's own time-out costs every request, and restarts when the client sends something.
 */
export function limitTaking(socket: Socket): () => void {
  const timer = setTimeout(() => socket.destroy(), TAKING_TIMEOUT_MS)
  return () => clearTimeout(timer)
}
