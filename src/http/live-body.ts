/** A body without an end of its own: what is sent is only known when it happens. */
export interface LiveBody {
  /** Called once. What it sends goes out together with the head. */
  begin(sink: LiveSink): void
  /** The client has taken all that was sent. */
  drained(): void
  /** The connection has closed, or the answer has ended. Called once. */
  closed(): void
}

/** Where a live body is sent to. */
export interface LiveSink {
  /** Sends a piece soon; does nothing once it has closed. The caller may share one piece between many. */
  send(piece: LivePiece): void
  /** False while the client takes too little; then `drained` is called later. */
  readonly hasRoom: boolean
  /** Bytes, ever, that this process has passed on. */
  readonly passedBytes: number
  /** Ends the answer and its connection, once everything is taken. */
  end(): void
  /** Ends the connection at once. */
  cut(): void
}

/** Bytes to be sent to one client or to many. They are framed once for all of them. */
export class LivePiece {
  readonly bytes: Buffer
  #chunk: Buffer | undefined

  /** @param bytes At least one: a chunk without any would end the answer. */
  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** The bytes as a chunk (RFC 9112 section 7.1). */
  get chunk(): Buffer {
    this.#chunk ??= Buffer.concat([Buffer.from(`${this.bytes.length.toString(16)}\r\n`), this.bytes, CRLF])
    return this.#chunk
  }
}

const CRLF = Buffer.from('\r\n')
