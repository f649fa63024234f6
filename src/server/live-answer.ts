import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { LiveBody, LivePiece, LiveSink } from '../http/live-body.ts'
import { LINGER_MS } from '../limits.ts'
import type { HeldBytes } from './held-bytes.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** Sends a live body, on a connection that closes after it. */
export function sendLive(body: LiveBody, request: IncomingRequest, untaken: HeldBytes): void {
  // It may have gone while its answer waited.
  if (request.response.destroyed || request.response.req.socket.destroyed) body.closed()
  else new LiveAnswer(body, request, untaken).begin()
}

/** After the head, pieces go straight to the socket: through the response they cost twice as much. */
class LiveAnswer implements LiveSink {
  readonly #body: LiveBody
  readonly #request: IncomingRequest
  readonly #response: ServerResponse
  readonly #socket: Socket
  readonly #untaken: HeldBytes
  #forget: (() => void) | undefined
  #isOver = false

  constructor(body: LiveBody, request: IncomingRequest, untaken: HeldBytes) {
    this.#body = body
    this.#request = request
    this.#response = request.response
    this.#socket = request.response.req.socket
    this.#untaken = untaken
  }

  begin(): void {
    const socket = this.#socket
    socket.on('drain', () => this.#drained())
    // A client that has sent its last byte could be gone, which only a write would show.
    const leave = () => void socket.destroy()
    // `once` would keep two objects more for each. The connection ends with the answer.
    if (socket.readableEnded) leave()
    else socket.on('end', leave)
    this.#response.on('close', () => {
      this.#isOver = true
      this.#forgetUntaken()
      this.#body.closed()
    })
    // The head goes out with the first piece.
    socket.cork()
    process.nextTick(() => socket.uncork())
    this.#response.flushHeaders()
    this.#body.begin(this)
  }

  send(piece: LivePiece): void {
    if (this.#isOver || this.#socket.write(this.#response.chunkedEncoding ? piece.chunk : piece.bytes)) return
    // The system has taken what it has room for by then, also of what is held back until the next tick.
    process.nextTick(() => this.#countUntaken())
  }

  get hasRoom(): boolean {
    return !this.#isOver && !this.#socket.writableNeedDrain
  }

  get passedBytes(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#response.end()
    const socket = this.#socket
    if (socket.writableLength === 0) return
    const timer = setTimeout(() => socket.destroy(), LINGER_MS)
    socket.once('close', () => clearTimeout(timer))
  }

  cut(): void {
    this.#socket.destroy()
  }

  #drained() {
    this.#forgetUntaken()
    if (!this.#isOver) this.#body.drained()
  }

  #countUntaken() {
    if (!this.hasRoom && !this.#isOver)
      this.#forget ??= this.#untaken.add(this.#request, this.#socket.writableLength)
  }

  #forgetUntaken() {
    this.#forget?.()
    this.#forget = undefined
  }
}
