import type { LiveBody } from '../http/live-body.ts'
import { LINGER_MS } from '../limits.ts'
import type { IncomingRequest } from './incoming-request.ts'
import type { UntakenBytes } from './untaken-bytes.ts'

/** Sends a live body, on a connection that closes after it. */
export function sendLive(body: LiveBody, request: IncomingRequest, untaken: UntakenBytes): void {
  const { response } = request
  const { socket } = response.req
  // It may have gone while its answer waited.
  if (response.destroyed || socket.destroyed) {
    body.closed()
    return
  }
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
  const countUntaken = () => {
    if (!isOver && response.writableNeedDrain) forget ??= untaken.add(request, socket.writableLength)
  }
  body.begin({
    send(bytes) {
      if (isOver || response.write(bytes)) return
      // Node holds back what is written until the next tick; then the system has taken what it has room for.
      process.nextTick(countUntaken)
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
