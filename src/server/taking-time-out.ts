import { TAKING_TIMEOUT_MS, UNTAKEN_CHARACTER_BYTES } from '../limits.ts'
import type { HeldBytes } from './held-bytes.ts'
import type { IncomingRequest } from './incoming-request.ts'

/**
 * Counts what the socket holds as untaken, and destroys it if the client does not take that within TAKING_TIMEOUT_MS;
 * the function returned ends both. Node's own time-out costs every request, and restarts when the client sends
 * something.
 */
export function limitTaking(request: IncomingRequest, untaken: HeldBytes): () => void {
  const { socket } = request.response.req
  const timer = setTimeout(() => socket.destroy(), TAKING_TIMEOUT_MS)
  const remove = untaken.add(request, socket.writableLength * UNTAKEN_CHARACTER_BYTES)
  return () => {
    clearTimeout(timer)
    remove()
  }
}
