import type { Socket } from 'node:net'
import type { IncomingRequest } from './incoming-request.ts'
import { type Origin, unmapped } from './proxy-trust.ts'

/** At the limit, so many connections may be there that have not shown a credential yet; no larger share of all. */
const NEWCOMERS_MAX = 256
const NEWCOMERS_SHARE = 1 / 4

/**
 * The open connections. At the limit, a new one closes another: of those that never showed a valid credential the one unused
 * for longest; or, if those are few, of the account with most. So an account that holds nearly all leaves room for others,
 * whose first request has not been read yet.
 */
export class Connections {
  readonly #max: number
  readonly #cutOff: (connection: Connection) => void
  /** Room for connections that have not shown a credential yet, at the cost of the account with most. */
  readonly #newcomersMax: number
  readonly #strangers = new ConnectionGroup()
  readonly #known = new Map<string, ConnectionGroup>()
  #count = 0
  /** By TCP socket, and by TLS socket once there is one. */
  readonly #bySocket = new WeakMap<Socket, Connection>()
  /** By address pair: links a TLS socket to its TCP connection. */
  readonly #byAddresses = new Map<string, Connection>()
  #touches = 0

  /** @param cutOff Closes a connection to make room for another. */
  constructor(max: number, cutOff: (connection: Connection) => void) {
    this.#max = max
    this.#newcomersMax = Math.min(NEWCOMERS_MAX, Math.floor(max * NEWCOMERS_SHARE))
    this.#cutOff = cutOff
  }

  get count(): number {
    return this.#count
  }

  /**
   * Adds a new connection, from the peer's `address`; at `max`, another one is cut off first.
   *
   * @param isOwner Whether it came through the owner's socket.
   */
  add(socket: Socket, address = socket.remoteAddress ?? '', isOwner = false): void {
    if (this.count >= this.#max) this.#makeRoom()
    const addresses = addressesOf(socket)
    const connection = new Connection(socket, address, isOwner)
    this.touch(connection)
    this.#strangers.members.add(connection)
    this.#count += 1
    this.#bySocket.set(socket, connection)
    if (addresses !== undefined) this.#byAddresses.set(addresses, connection)
    // It comes once, but `once` would keep two objects more for each connection.
    socket.on('close', () => {
      this.#remove(connection)
      if (addresses === undefined || this.#byAddresses.get(addresses) !== connection) return
      this.#byAddresses.delete(addresses)
    })
  }

  /** Links a TLS socket, after its handshake, to the connection that carries it. */
  join(secured: Socket): void {
    const connection = this.#byAddresses.get(addressesOf(secured) ?? '')
    if (connection === undefined) return
    connection.secure(secured)
    this.#bySocket.set(secured, connection)
  }

  /** The connection of a TCP or TLS socket; undefined for a TLS socket that closed before `join`. */
  of(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket)
  }

  /** Marks a connection as the last one used. */
  touch(connection: Connection): void {
    this.#touches += 1
    connection.touched = this.#touches
  }

  /** Marks a connection as authenticated. @param account Whose request was the last on it. */
  trust(connection: Connection, account: string): void {
    const before = connection.account
    if (before === account || !this.#groupOf(connection)?.members.delete(connection)) return
    this.#dropIfEmpty(before)
    connection.account = account
    let group = this.#known.get(account)
    if (group === undefined) {
      group = new ConnectionGroup()
      this.#known.set(account, group)
    }
    group.members.add(connection)
  }

  destroyAll(): void {
    for (const { members } of [this.#strangers, ...this.#known.values()])
      for (const { socket } of members) socket.destroy()
  }

  #makeRoom() {
    const areStrangersFew = this.#strangers.members.size <= this.#newcomersMax
    const group = (areStrangersFew ? this.#largestKnown() : undefined) ?? this.#strangers
    const quietest = group.takeQuietest()
    if (quietest === undefined) return
    // Not left to its event `close`, which comes later.
    this.#remove(quietest)
    this.#cutOff(quietest)
  }

  #largestKnown(): ConnectionGroup | undefined {
    let largest: ConnectionGroup | undefined
    for (const group of this.#known.values())
      if (group.members.size > (largest?.members.size ?? 0)) largest = group
    return largest
  }

  #groupOf({ account }: Connection): ConnectionGroup | undefined {
    return account === undefined ? this.#strangers : this.#known.get(account)
  }

  #remove(connection: Connection) {
    if (!this.#groupOf(connection)?.members.delete(connection)) return
    this.#count -= 1
    this.#dropIfEmpty(connection.account)
  }

  #dropIfEmpty(account: string | undefined) {
    if (account !== undefined && this.#known.get(account)?.members.size === 0) this.#known.delete(account)
  }
}

/** Connections by last use. A request only sets a number; they are sorted when one must be closed. */
class ConnectionGroup {
  readonly members = new Set<Connection>()
  /** Quietest last, as of the last sorting; a connection that is missing has been touched since. */
  #sorted: { readonly connection: Connection; readonly quietSince: number }[] = []

  /** The caller must remove it from `members`. */
  takeQuietest(): Connection | undefined {
    const quietest = this.#takeSorted()
    if (quietest !== undefined) return quietest
    this.#sorted = Array.from(this.members, (connection) => ({
      connection,
      quietSince: connection.quietSince,
    }))
    this.#sorted.sort((a, b) => (a.quietSince < b.quietSince ? 1 : -1))
    return this.#takeSorted()
  }

  #takeSorted(): Connection | undefined {
    for (let next = this.#sorted.pop(); next !== undefined; next = this.#sorted.pop()) {
      const { connection, quietSince } = next
      if (this.members.has(connection) && connection.quietSince === quietSince) return connection
    }
    return undefined
  }
}

/** The same for a TLS socket and the TCP socket below it, which Node hides. Unix sockets have none, and no TLS. */
function addressesOf({ remoteAddress, remotePort, localAddress }: Socket): string | undefined {
  if (remoteAddress === undefined) return undefined
  return `${remoteAddress} ${remotePort} ${localAddress}`
}

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
