import type { ServerResponse } from 'node:http'
import type { Connection } from './connection.ts'

/**
 * Pipelined requests that wait for an earlier answer. Each takes memory: so they are counted, and of each only what Node has
 * made is kept.
 */
export class WaitingRequests {
  readonly #max: number
  #count = 0

  /** @param max For all connections together. */
  constructor(max: number) {
    this.#max = max
  }

  get count(): number {
    return this.#count
  }

  /** Keeps one more until `take`, or until the socket closes; false if `max` wait already. */
  add(connection: Connection, response: ServerResponse): boolean {
    if (this.#count >= this.#max) return false
    if (connection.waiting === undefined) {
      connection.waiting = []
      connection.socket.once('close', () => this.#forget(connection))
    }
    connection.waiting.push(response)
    this.#count += 1
    return true
  }

  /** The one that came first; undefined if none waits. */
  take(connection: Connection): ServerResponse | undefined {
    const first = connection.waiting?.shift()
    if (first !== undefined) this.#count -= 1
    return first
  }

  #forget({ waiting = [] }: Connection) {
    this.#count -= waiting.splice(0).length
  }
}
