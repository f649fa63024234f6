import { callerKey } from '../http/message.ts'
import type { Connection, Connections } from './connections.ts'
import type { IncomingRequest } from './incoming-request.ts'

/** Beyond one of these shares, connections are cut off until this part of it is left. */
const HELD_BYTES_KEPT_SHARE = 7 / 8
/** Connections that have taken or sent nothing for so long are cut off before others of their caller. */
export const HELD_STALLED_MS = 5_000

/** A part of an answer that its client has not taken yet, or a body that has not arrived as a whole. */
interface HeldPart {
  readonly connection: Connection
  /** By `callerKey`. */
  readonly caller: string
  readonly bytes: number
  /** When it was written, or grew last, by `performance.now()`. */
  readonly sinceMs: number
}

/**
 * Limits the memory that connections together hold because their clients are slow. Beyond the limit, connections are cut
 * off, each time one of the caller that holds most: first those that have not moved for HELD_STALLED_MS, last those that
 * have moved before; otherwise the one that has waited for longest.
 */
export class HeldBytes {
  readonly #max: number
  readonly #connections: Connections
  readonly #cutOff: (connection: Connection, reason: string) => void
  readonly #what: string
  /** In the order of their times. */
  readonly #parts = new Set<HeldPart>()
  #bytes = 0

  /**
   * @param max In bytes. A single part may exceed it.
   * @param what What it is, for the log: "answers that nobody has taken".
   */
  constructor(
    max: number,
    connections: Connections,
    cutOff: (connection: Connection, reason: string) => void,
    what: string,
  ) {
    this.#max = max
    this.#connections = connections
    this.#cutOff = cutOff
    this.#what = what
  }

  /** Estimated memory of all of them. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Counts what a request holds, until the function returned is called: then its client has moved.
   *
   * @param bytes Estimated memory of this process, without that of the kernel.
   */
  add(request: Pick<IncomingRequest, 'response' | 'principal' | 'address'>, bytes: number): () => void {
    const { socket } = request.response.req
    const connection = this.#connections.of(socket)
    if (connection === undefined || socket.destroyed) return () => {}
    const part: HeldPart = {
      connection,
      caller: callerKey(request),
      bytes,
      sinceMs: performance.now(),
    }
    this.#parts.add(part)
    this.#bytes += part.bytes
    if (this.#bytes > this.#max) this.#makeRoom()
    return () => {
      connection.hasMoved = true
      this.#remove(part)
    }
  }

  /** Cuts off more than it must, because each call looks at all parts. */
  #makeRoom() {
    const kept = this.#max * HELD_BYTES_KEPT_SHARE
    const stalledSinceMs = performance.now() - HELD_STALLED_MS
    const speedOf = ({ sinceMs, connection }: HeldPart) =>
      sinceMs <= stalledSinceMs ? 0 : connection.hasMoved ? 2 : 1
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

  #cut(part: HeldPart) {
    const reason = `${this.#what} hold ${Math.round(this.#bytes)} bytes, and it was slow with its own`
    this.#remove(part)
    this.#cutOff(part.connection, reason)
  }

  #remove(part: HeldPart) {
    if (this.#parts.delete(part)) this.#bytes -= part.bytes
  }
}
