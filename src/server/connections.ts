import type { Socket } from 'node:net'

/**
 * The open connections, in the order in which one gives way when there are too many: first those that have never shown
 * a good credential, then the others, and among each the one that has been quiet for longest.
 */
export class Connections {
  readonly #max: number
  readonly #giveWay: (socket: Socket) => void
  readonly #strangers = new Set<Socket>()
  readonly #known = new Set<Socket>()
  /** TCP connections by their ends, for one of TLS to find what it runs over. */
  readonly #bare = new Map<string, Socket>()
  /** TLS connections by what they run over. */
  readonly #secured = new WeakMap<Socket, Socket>()
  /** What a TLS connection runs over. */
  readonly #carriers = new WeakMap<Socket, Socket>()

  /** @param giveWay Closes a connection to make room for another. */
  constructor(max: number, giveWay: (socket: Socket) => void) {
    this.#max = max
    this.#giveWay = giveWay
  }

  /** Takes a new TCP connection in; another gives way to it when there are `max` already. */
  add(socket: Socket): void {
    if (this.#strangers.size + this.#known.size >= this.#max) this.#makeRoom()
    const ends = endsOf(socket)
    this.#strangers.add(socket)
    this.#bare.set(ends, socket)
    socket.once('close', () => {
      this.#remove(socket)
      if (this.#bare.get(ends) === socket) this.#bare.delete(ends)
    })
  }

  /** TLS is there: what happens on `secured` counts for the connection that carries it. */
  join(secured: Socket): void {
    const carrier = this.#bare.get(endsOf(secured))
    if (carrier === undefined) return
    this.#carriers.set(secured, carrier)
    this.#secured.set(carrier, secured)
  }

  /** A request has begun to come in. */
  touch(socket: Socket): void {
    const carrier = this.#carriers.get(socket) ?? socket
    const group = this.#known.has(carrier) ? this.#known : this.#strangers
    if (group.delete(carrier)) group.add(carrier)
  }

  /** A request on it has shown a good credential. */
  trust(socket: Socket): void {
    const carrier = this.#carriers.get(socket) ?? socket
    if (this.#strangers.delete(carrier)) this.#known.add(carrier)
  }

  /**
   * Reads nothing more from any of them until the function that this returns is called; what was paused already stays
   * so.
   */
  hold(): () => void {
    // TLS reads past the connection that carries it.
    const readers = [...this.#strangers, ...this.#known].map((socket) => this.#secured.get(socket) ?? socket)
    const held = readers.filter((socket) => !socket.isPaused())
    for (const socket of held) socket.pause()
    return () => {
      for (const socket of held) socket.resume()
    }
  }

  destroyAll(): void {
    for (const socket of [...this.#strangers, ...this.#known]) socket.destroy()
  }

  #makeRoom() {
    const [quietest] = this.#strangers.size > 0 ? this.#strangers : this.#known
    if (quietest === undefined) return
    // Its place is free at once, but it is told of only later.
    this.#remove(quietest)
    this.#giveWay(quietest)
  }

  #remove(socket: Socket) {
    this.#strangers.delete(socket)
    this.#known.delete(socket)
  }
}

/** Node does not tell what a TLS socket runs over, but both have the same ends. */
function endsOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`
}
