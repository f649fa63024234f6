import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { LiveBody, LivePiece, LiveSink } from '../http/live-body.ts'
import { LINGER_MS } from '../limits.ts'
import type { IncomingRequest } from './incoming-request.ts'
import type { UntakenBytes } from './untaken-bytes.ts'

/** Sends a live body, on a connection that closes after it. */
export function sendLive(body: LiveBody, request: IncomingRequest, untaken: UntakenBytes): void {
  // It may have gone while its answer waited.
  if (request.response.destroyed || request.response.req.socket.destroyed) body.closed()
  else new LiveAnswer(body, request, untaken).begin()
}

/** Once the head is out, with what goes along, pieces go straight to the socket: through the response they cost twice as much. */
class LiveAnswer implements LiveSink {
  readonly #body: LiveBody
  readonly #request: IncomingRequest
  readonly #response: ServerResponse
  readonly #socket: Socket
  readonly #untaken: UntakenBytes
  #forget: (() => void) | undefined
  #isHeadOut = false
  #isOver = false

  constructor(body: LiveBody, request: IncomingRequest, untaken: UntakenBytes) {
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
    if (socket.readableEnded) leave()
    else socket.once('end', leave)
    this.#response.once('close', () => {
      socket.off('end', leave)
      this.#isOver = true
      this.#forgetUntaken()
      this.#body.closed()
    })
    this.#body.begin(this)
  }

  send(piece: LivePiece): void {
    if (this.#isOver || this.#write(piece)) return
    // The system has taken what it has room for by then, also of what Node holds back until the next tick.
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

  /** @returns Whether there is room for more. */
  #write(piece: LivePiece): boolean {
    if (this.#isHeadOut) return this.#socket.write(this.#response.chunkedEncoding ? piece.chunk : piece.bytes)
    const hasRoom = this.#response.write(piece.bytes)
    // Node holds back the first pieces until the next tick, and would be overtaken.
    process.nextTick(() => {
      this.#isHeadOut = true
    })
    return hasRoom
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
