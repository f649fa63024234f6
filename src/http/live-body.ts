/** A body without an end of its own: what is sent is only known when it happens. */
export interface LiveBody {
  /** Called once, before the head is sent. It must send something: the head goes with it. */
  begin(sink: LiveSink): void
  /** The client has taken all that was sent. */
  drained(): void
  /** The connection has closed, or the answer has ended. Called once. */
  closed(): void
}

/** Where a live body is sent to. */
export interface LiveSink {
  /** Sends bytes soon; does nothing once it has closed. The caller may share them between many. */
  send(bytes: Uint8Array): void
  /** False while the client takes too little; then `drained` is called later. */
  readonly hasRoom: boolean
  /** Bytes, ever, that this process has passed on. */
  readonly passedBytes: number
  /** Ends the answer and its connection, once everything is taken. */
  end(): void
  /** Ends the connection at once. */
  cut(): void
}
