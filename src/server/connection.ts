import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Problem } from '../http/problem.ts'
import type { IncomingRequest } from './incoming-request.ts'
import { type Origin, unmapped } from './proxy-trust.ts'

export class Connection {
  /** The TCP socket; after a TLS handshake, the TLS socket. */
  socket: Socket
  /** The peer, which may be a proxy. */
  origin: Origin
  /** The newest request that has begun; the next one waits for its answer. */
  last: IncomingRequest | undefined
  /** The answers to requests that have not begun, oldest first; undefined if none ever had to wait. */
  waiting: ServerResponse[] | undefined
  /** Why the rest of the newest request cannot be parsed, if it waited when that came out. */
  breakage: Problem | undefined
  /** No further request is run: after a framing fault, the next one may be smuggled. */
  isClosing = false
  /** Node's parser has failed; it reports that again with every further read. */
  isBroken = false
  /** Its client has taken a part of an answer for which the socket had no room at first, or sent more of a body. */
  hasMoved = false
  /** Whose request was the last with a valid credential; undefined before the first. */
  account: string | undefined
  /** Sequence number, over all connections, of its last use. */
  touched = 0

  /** As `touched`; of one that waits for something to happen, it is later than all others. */
  get quietSince(): number {
    const isWaiting = this.last?.isWaiting === true && this.lastWaiting === undefined
    return isWaiting ? Number.POSITIVE_INFINITY : this.touched
  }

  /** The answer to the newest request, if that has not begun. */
  get lastWaiting(): ServerResponse | undefined {
    return this.waiting?.at(-1)
  }

  /** @param address The peer's. @param isOwner Whether it came through the owner's socket. */
  constructor(socket: Socket, address: string, isOwner = false) {
    this.socket = socket
    this.origin = { address: unmapped(address), isSecure: false, isOwner }
  }

  /** After the TLS handshake. */
  secure(socket: Socket): void {
    this.socket = socket
    this.origin = { address: this.origin.address, isSecure: true }
  }
}
