import type { Socket } from 'node:net'
import { LINGER_MS } from '../limits.ts'
import type { Turns } from './turns.ts'

/**
 * Makes the socket close in two steps (RFC 9112 section 9.6). Closing with unread bytes resets the connection, and the
 * client may lose the answer. So the sending half closes first, and input is dropped, in turns, for LINGER_MS.
 */
export function lingerOnClose(socket: Socket, turns: Turns) {
  // Node's parser bypasses the stream until there is a listener for `data`.
  socket.on('data', () => {})
  socket.removeAllListeners('data')
  socket.on('data', () => {
    socket.pause()
    turns(() => socket.resume())
  })
  socket.resume()
  socket.destroySoon = () => {
    socket.end()
    const timer = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(timer))
  }
}
