import type { Socket } from 'node:net'
import type { IncomingRequest } from './incoming-request.ts'
import { type Origin, unmapped } from './proxy-trust.ts'

export class Connection {
  /** The TCP socket; after a TLS handshake, the TLS socket. */
  socket: Socket
  /** The peer, which may be a proxy. */
  origin: Origin
  /** The newest request that has begun; the next one waits for its answer. */
  last: IncomingRequest | undefined
  /** Waits for the answer to `last`; nothing behind it has been parsed. */
  next: IncomingRequest | undefined
  /** What has been read and not parsed; undefined unless the connection is stopped. */
  rest: Buffer[] | undefined
  /** Ends the counting of `rest` as held memory. */
  release: (() => void) | undefined
  /** All that comes is dropped, because the answer under way is the last. */
  isDropped = false
  /** The request whose body has a deadline of its own, as Node's began too early. */
  deadlineOf: IncomingRequest | undefined
  deadline: NodeJS.Timeout | undefined
  /** No further request is run: after a framing fault, the next one may be smuggled. */
  isClosing = false
  /** Node's parser has failed; it reports that again with every further read. */
  isBroken = false
  /** Its client has taken a part of an answer for which the socket had no room at first, or sent more of a body. */
  hasMoved = false
  /** Whose request was the last with a valid credential, by `callerKey`; undefined before the first. */
  account: string | undefined
  /** Sequence number, over all connections, of its last use. */
  touched = 0

  /** As `touched`; of one that waits for something to happen, it is later than all others. */
  get quietSince(): number {
    const isWaiting = this.last?.isWaiting === true && this.next === undefined
    return isWaiting ? Number.POSITIVE_INFINITY : this.touched
  }

  /** The newest request of which the head has been parsed. */
  get newest(): IncomingRequest | undefined {
    return this.next ?? this.last
  }

  /** Whether nothing is read or parsed, because a request waits. */
  get isStopped(): boolean {
    return this.rest !== undefined
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
