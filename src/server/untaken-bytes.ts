import { callerKey } from '../http/message.ts'
import { UNTAKEN_BYTES_KEPT_SHARE, UNTAKEN_CHARACTER_BYTES, UNTAKEN_STALLED_MS } from '../limits.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './connections.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** The part of an answer that has been written, and that its client has not taken yet. */
interface UntakenPart {
  readonly connection: Connection
  /** By `callerKey`. */
  readonly caller: string
  readonly bytes: number
  /** When it was written, by `performance.now()`. */
  readonly sinceMs: number
}

/**
 * Limits the memory that all answers together hold because clients do not take them. Beyond the limit, connections are
 * cut off, each time one of the caller that holds most: first those that have taken nothing for UNTAKEN_STALLED_MS, last
 * those that have taken a part before; otherwise the one that has waited for longest.
 */
export class UntakenBytes {
  readonly #max: number
  readonly #connections: Connections
  readonly #cutOff: (connection: Connection, reason: string) => void
  /** In the order in which they were written. */
  readonly #parts = new Set<UntakenPart>()
  #bytes = 0

  /** @param max In bytes. A single answer may exceed it. */
  constructor(
    max: number,
    connections: Connections,
    cutOff: (connection: Connection, reason: string) => void,
  ) {
    this.#max = max
    this.#connections = connections
    this.#cutOff = cutOff
  }

  /** Estimated memory of all that has been written and not been taken. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Counts what the socket of a request holds, until the function returned is called. Only the memory of this process
   * counts, not that of the kernel.
   *
   * @param bytes Estimated memory; of text, if not given.
   */
  add(
    request: Pick<IncomingRequest, 'response' | 'principal' | 'address'>,
    bytes = request.response.req.socket.writableLength * UNTAKEN_CHARACTER_BYTES,
  ): () => void {
    const { socket } = request.response.req
    const connection = this.#connections.of(socket)
    if (connection === undefined || socket.destroyed) return () => {}
    const part: UntakenPart = {
      connection,
      caller: callerKey(request),
      bytes,
      sinceMs: performance.now(),
    }
    this.#parts.add(part)
    this.#bytes += part.bytes
    if (this.#bytes > this.#max) this.#makeRoom()
    return () => {
      connection.hasTaken = true
      this.#remove(part)
    }
  }

  /** Cuts off more than it must, because each call looks at all parts. */
  #makeRoom() {
    const kept = this.#max * UNTAKEN_BYTES_KEPT_SHARE
    const stalledSinceMs = performance.now() - UNTAKEN_STALLED_MS
    const speedOf = ({ sinceMs, connection }: UntakenPart) =>
      sinceMs <= stalledSinceMs ? 0 : connection.hasTaken ? 2 : 1
    const callers = Array.from(Map.groupBy(this.#parts, ({ caller }) => caller).values(), (parts) => ({
      bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
      // Keeps the order of time between equals.
      slowest: parts.sort((a, b) => speedOf(a) - speedOf(b)).values(),
    }))
    while (this.#bytes > kept && this.#parts.size > 1) {
      const greatest = callers.reduce((a, b) => (b.bytes > a.bytes ? b : a))
      const { value: part } = greatest.slowest.next()
      if (part === undefined) return
      greatest.bytes -= part.bytes
      this.#cut(part)
    }
  }

  #cut(part: UntakenPart) {
    const reason = `answers that nobody has taken hold ${Math.round(this.#bytes)} bytes, and it was slow to take its own`
    this.#remove(part)
    this.#cutOff(part.connection, reason)
  }

  #remove(part: UntakenPart) {
    if (this.#parts.delete(part)) this.#bytes -= part.bytes
  }
}
