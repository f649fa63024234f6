import type { LiveBody } from '../http/live-body.ts'
import { LINGER_MS } from '../limits.ts'
import type { IncomingRequest } from './incoming-request.ts'
import type { UntakenBytes } from './untaken-bytes.ts'

/**
 * Sends a live body after a head that says `Connection: close`: the end of the connection is the end of the body, so its
 * pieces need no framing of their own.
 */
export function sendLive(body: LiveBody, request: IncomingRequest, untaken: UntakenBytes): void {
  const { response } = request
  const { socket } = response.req
  response.useChunkedEncodingByDefault = false
  let forget: (() => void) | undefined
  let isOver = false
  response.on('drain', () => {
    forget?.()
    forget = undefined
    body.drained()
  })
  // A client that has sent its last byte could be gone, which only a write would show.
  const leave = () => void socket.destroy()
  if (socket.readableEnded) leave()
  else socket.once('end', leave)
  response.once('close', () => {
    isOver = true
    socket.off('end', leave)
    forget?.()
    body.closed()
  })
  body.begin({
    send(bytes) {
      if (isOver || response.write(bytes)) return
      forget ??= untaken.add(request)
    },
    get hasRoom() {
      return !isOver && !response.writableNeedDrain
    },
    get passedBytes() {
      return socket.bytesWritten - socket.writableLength
    },
    end() {
      if (isOver) return
      isOver = true
      response.end()
      if (socket.writableLength === 0) return
      const timer = setTimeout(() => socket.destroy(), LINGER_MS)
      socket.once('close', () => clearTimeout(timer))
    },
    cut: () => void socket.destroy(),
  })
}
