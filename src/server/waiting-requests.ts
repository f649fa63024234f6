import type { Socket } from 'node:net'

/** Counts the requests that wait for the answer to one before them on their connection, since each takes memory. */
export class WaitingRequests {
  readonly #max: number
  readonly #bySocket = new Map<Socket, number>()
  #count = 0

  /** @param max Of all connections together. */
  constructor(max: number) {
    this.#max = max
  }

  get count(): number {
    return this.#count
  }

  /** Counts one more, until `remove`, or until its connection is closed; not when there are `max`, which gives false. */
  add(socket: Socket): boolean {
    if (this.#count >= this.#max) return false
    const before = this.#bySocket.get(socket)
    if (before === undefined) socket.once('close', () => this.#forget(socket))
    this.#bySocket.set(socket, (before ?? 0) + 1)
    this.#count += 1
    return true
  }

  /** One that was added waits no longer. */
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
