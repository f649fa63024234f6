import type { Socket } from 'node:net'
import { TAKING_TIMEOUT_MS } from '../limits.ts'

/**
 * Cuts a connection off when its client takes too long to take what was written. Node's own time-out costs every
 * request, and begins anew with whatever the client sends.
 *
 * @returns To be called when it has been taken.
 */
export function limitTaking(socket: Socket): () => void {
  const timer = setTimeout(() => socket.destroy(), TAKING_TIMEOUT_MS)
  return () => clearTimeout(timer)
}
