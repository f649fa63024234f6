import type { Socket } from 'node:net'
import { LINGER_MS } from '../limits.ts'
import type { Turns } from './turns.ts'

/**
 * Makes the end of a connection gentle: a socket that is closed with bytes unread resets the connection, and the
 * client may lose the answer that is on its way. So the sending half is closed first, and what still comes is read
 * and dropped for LINGER_MS (RFC 9112 section 9.6), no faster than others have their turn.
 */
export function lingerOnClose(socket: Socket, turns: Turns) {
  // Node's parser reads past the stream until somebody listens for the data.
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
