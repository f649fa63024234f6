import type { Socket } from 'node:net'
import { LINGER_MS } from '../limits.ts'
import type { Scheduler } from '../scheduler.ts'

/**
 * Makes the socket close in two steps (RFC 9112 section 9.6). Closing with unread bytes resets the connection, and the
 * client may lose the answer. So the sending half closes first, and input is dropped, in turns, for LINGER_MS.
 *
 * @param caller Whose it is; callers take turns.
 */
export function lingerOnClose(socket: Socket, scheduler: Pick<Scheduler, 'resume'>, caller: string) {
  // Node's parser bypasses the stream until there is a listener for `data`.
  socket.on('data', () => {})
  socket.removeAllListeners('data')
  socket.on('data', () => {
    socket.pause()
    scheduler.resume(caller, socket)
  })
  socket.resume()
  socket.destroySoon = () => {
    socket.end()
    const timer = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(timer))
  }
}
