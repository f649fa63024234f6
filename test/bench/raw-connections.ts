import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

type Listener = (index: number, piece: Buffer) => void

/** Connections whose answers nobody parses: a thousand parsers would take the processor from the server. */
export class RawConnections implements Disposable {
  readonly #sockets: readonly Socket[]
  readonly #bytes: Float64Array
  #listener: Listener = () => {}
  #isClosed = false
  /** Rejects as soon as one has ended. */
  readonly failed: Promise<never>

  private constructor(sockets: readonly Socket[]) {
    this.#sockets = sockets
    this.#bytes = new Float64Array(sockets.length)
    const { promise, reject } = Promise.withResolvers<never>()
    this.failed = promise
    promise.catch(() => {})
    for (const [index, socket] of sockets.entries()) {
      socket.on('error', () => {})
      socket.on('close', () => {
        if (!this.#isClosed) reject(new Error(`Connection ${index} of ${sockets.length} has ended`))
      })
      socket.on('data', (piece: Buffer) => {
        this.#bytes[index] = (this.#bytes[index] ?? 0) + piece.length
        this.#listener(index, piece)
      })
    }
  }

  static async open(url: string, count: number): Promise<RawConnections> {
    const { hostname, port } = new URL(url)
    const sockets = Array.from({ length: count }, () => connect(Number(port), hostname).setNoDelay())
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    return new RawConnections(sockets)
  }

  /** Sends a request without a body on each. @param head Its lines, without the empty one at the end. */
  send(headOf: (index: number) => readonly string[]): void {
    for (const [index, socket] of this.#sockets.entries())
      socket.write(`${headOf(index).join('\r\n')}\r\n\r\n`)
  }

  /** Hands what comes to this listener alone. */
  listen(listener: Listener): void {
    this.#listener = listener
  }

  /** Resolves once something has come on each. @throws {Error} when it is not an answer with status 200. */
  async untilAnswered(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const answered = new Set<number>()
    this.listen((index, piece) => {
      if (answered.has(index)) return
      answered.add(index)
      const status = piece.toString('latin1', 0, 'HTTP/1.1 200'.length)
      if (status !== 'HTTP/1.1 200') reject(new Error(`${status}: ${piece.toString('latin1')}`))
      else if (answered.size === this.#sockets.length) resolve()
    })
    await Promise.race([promise, this.failed])
    this.listen(() => {})
  }

  /** That have come on each connection. */
  bytes(): readonly number[] {
    return [...this.#bytes]
  }

  [Symbol.dispose](): void {
    this.#isClosed = true
    for (const socket of this.#sockets) socket.destroy()
  }
}
