import type { Socket } from 'node:net'
import type { IncomingRequest } from './incoming-request.ts'
import { type Origin, unmapped } from './proxy-trust.ts'

/** What is kept of one connection from request to request. */
export class Connection {
  /** What requests come in on: TLS, as soon as that is there. */
  socket: Socket
  /** What the connection itself tells of the caller. */
  origin: Origin
  /** The request that has come in last: whatever follows has to wait for the answer to it. */
  last: IncomingRequest | undefined
  /** Nothing more is taken: what follows a request that cannot be trusted may be smuggled. */
  isClosing = false
  /** The parser has given it up; it says so again with every further byte. */
  isBroken = false
  /** Rises, over all connections, with each request. */
  touched = 0

  /** @param address Of the other end. */
  constructor(socket: Socket, address: string) {
    this.socket = socket
    this.origin = { address: unmapped(address), isSecure: false }
  }

  /** TLS is there. */
  secure(socket: Socket): void {
    this.socket = socket
    this.origin = { address: this.origin.address, isSecure: true }
  }
}
