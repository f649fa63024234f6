import type { Socket } from 'node:net'
import { Connection } from './connection.ts'

/**
 * The open connections, in the order in which one gives way when there are too many: first those that have never shown
 * a good credential, then the others, and among each the one that has been quiet for longest.
 */
export class Connections {
  readonly #max: number
  readonly #giveWay: (connection: Connection) => void
  readonly #strangers = new Group()
  readonly #known = new Group()
  /** By the socket of TCP, and also by that of TLS. */
  readonly #bySocket = new WeakMap<Socket, Connection>()
  /** By their ends, for one of TLS to find what it runs over. */
  readonly #byEnds = new Map<string, Connection>()
  #touches = 0

  /** @param giveWay Closes a connection to make room for another. */
  constructor(max: number, giveWay: (connection: Connection) => void) {
    this.#max = max
    this.#giveWay = giveWay
  }

  get count(): number {
    return this.#strangers.members.size + this.#known.members.size
  }

  /**
   * Takes a new connection in; another gives way to it when there are `max` already.
   *
   * @param address Of the other end.
   */
  add(socket: Socket, address = socket.remoteAddress ?? ''): void {
    if (this.count >= this.#max) this.#makeRoom()
    const ends = endsOf(socket)
    const connection = new Connection(socket, address)
    this.touch(connection)
    this.#strangers.members.add(connection)
    this.#bySocket.set(socket, connection)
    if (ends !== undefined) this.#byEnds.set(ends, connection)
    socket.once('close', () => {
      this.#remove(connection)
      if (ends !== undefined && this.#byEnds.get(ends) === connection) this.#byEnds.delete(ends)
    })
  }

  /** TLS is there: what happens on `secured` happens on the connection that carries it. */
  join(secured: Socket): void {
    const connection = this.#byEnds.get(endsOf(secured) ?? '')
    if (connection === undefined) return
    connection.secure(secured)
    this.#bySocket.set(secured, connection)
  }

  /** The connection that a socket is, or runs over; undefined when it was closed before one could see whose it is. */
  of(socket: Socket): Connection | undefined {
    return this.#bySocket.get(socket)
  }

  /** A request has begun to come in. */
  touch(connection: Connection): void {
    this.#touches += 1
    connection.touched = this.#touches
  }

  /** A request on it has shown a good credential. */
  trust(connection: Connection): void {
    if (this.#strangers.members.delete(connection)) this.#known.members.add(connection)
  }

  /**
   * Reads nothing more from any of them until the function that this returns is called; what was paused already stays
   * so.
   */
  hold(): () => void {
    const held = this.#all()
      .map(({ socket }) => socket)
      .filter((socket) => !socket.isPaused())
    for (const socket of held) socket.pause()
    return () => {
      for (const socket of held) socket.resume()
    }
  }

  destroyAll(): void {
    for (const { socket } of this.#all()) socket.destroy()
  }

  #all(): Connection[] {
    return [...this.#strangers.members, ...this.#known.members]
  }

  #makeRoom() {
    const quietest = this.#strangers.takeQuietest() ?? this.#known.takeQuietest()
    if (quietest === undefined) return
    // Its place is free at once, but it is told of only later.
    this.#remove(quietest)
    this.#giveWay(quietest)
  }

  #remove(connection: Connection) {
    this.#strangers.members.delete(connection)
    this.#known.members.delete(connection)
  }
}

/** Connections of one kind. A request only leaves a number on its own; they are sorted when one must give way. */
class Group {
  readonly members = new Set<Connection>()
  /** The quietest last, as it was when they were sorted; whoever is not among them has been touched since. */
  #sorted: { readonly connection: Connection; readonly touched: number }[] = []

  /** The caller is to remove it; undefined when there is none. */
  takeQuietest(): Connection | undefined {
    const quietest = this.#takeSorted()
    if (quietest !== undefined) return quietest
    this.#sorted = Array.from(this.members, (connection) => ({ connection, touched: connection.touched }))
    this.#sorted.sort((a, b) => b.touched - a.touched)
    return this.#takeSorted()
  }

  #takeSorted(): Connection | undefined {
    for (let next = this.#sorted.pop(); next !== undefined; next = this.#sorted.pop()) {
      const { connection, touched } = next
      if (this.members.has(connection) && connection.touched === touched) return connection
    }
    return undefined
  }
}

/**
 * Node does not tell what a TLS socket runs over, but both have the same ends. Those of a Unix socket have no names, and
 * carry no TLS.
 */
function endsOf({ remoteAddress, remotePort, localAddress }: Socket): string | undefined {
  if (remoteAddress === undefined) return undefined
  return `${remoteAddress} ${remotePort} ${localAddress}`
}
