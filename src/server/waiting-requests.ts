import type { Socket } from 'node:net'

/** Counts pipelined requests that wait for an earlier answer, because each takes memory. */
export class WaitingRequests {
  readonly #max: number
  readonly #bySocket = new Map<Socket, number>()
  #count = 0

  /** @param max For all connections together. */
  constructor(max: number) {
    this.#max = max
  }

  get count(): number {
    return this.#count
  }

  /** Counts one more until `remove`, or until the socket closes; false if `max` wait already. */
  add(socket: Socket): boolean {
    if (this.#count >= this.#max) return false
    const before = this.#bySocket.get(socket)
    if (before === undefined) socket.once('close', () => this.#forget(socket))
    this.#bySocket.set(socket, (before ?? 0) + 1)
    this.#count += 1
    return true
  }

  /** Undoes one `add`. */
  remove(socket: Socket): void {
    const before = this.#bySocket.get(socket)
    if (before === undefined) return
    this.#bySocket.set(socket, before - 1)
    this.#count -= 1
  }

  #forget(socket: Socket) {
    this.#count -= this.#bySocket.get(socket) ?? 0
    this.#bySocket.delete(socket)
  }
}
