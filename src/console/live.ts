import type { LiveChange } from './address.ts'
import type { Api } from './api.ts'

const KINDS = ['added', 'modified', 'removed'] as const
/** The first pause after a refused stream; it doubles up to the last. */
const [PAUSE_MS_MIN, PAUSE_MS_MAX] = [2_000, 60_000]

export interface LiveEvents {
  /** Changes are missing: everything must be read again. */
  reset(): void
  /** Whether changes arrive as they happen. */
  connected(isConnected: boolean): void
}

/** What the window that has the stream sends to the others. */
type Message =
  | { readonly kind: 'change'; readonly change: LiveChange; readonly tag: string }
  | { readonly kind: 'reset'; readonly tag: string }
  | { readonly kind: 'connected'; readonly isConnected: boolean }
  | { readonly kind: 'ask' }

/**
 * Others' changes, from `/v1/events`. All windows of a browser share one stream, because HTTP/1.1 allows six connections
 * to a host: the one that holds the lock has it, and passes the events on to the others.
 */
export class Live {
  readonly #api: Api
  readonly #events: LiveEvents
  readonly #channel: BroadcastChannel
  readonly #name: string
  readonly #listeners = new Set<(change: LiveChange) => void>()
  /** Tag of the last change that this window knows. */
  #tag = ''
  #source: EventSource | undefined
  #isLeader = false
  #isConnected = false
  #hasBegun = false
  #pauseMs = PAUSE_MS_MIN
  #timer = 0

  constructor(api: Api, events: LiveEvents) {
    this.#api = api
    this.#events = events
    this.#name = `connbook ${api.base.pathname}`
    this.#channel = new BroadcastChannel(this.#name)
    this.#channel.onmessage = ({ data }: MessageEvent<Message>) => this.#hear(data)
  }

  /** @returns Stops the calls. */
  listen(listener: (change: LiveChange) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** @param tag The tag of the first list that was read, with its quotes; empty to report only changes from now on. */
  begin(tag: string): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    // Another window may have passed on this change already.
    this.#tag ||= tag.replaceAll('"', '')
    // A page that the browser keeps for the way back must not hold the stream.
    addEventListener('pagehide', () => this.#close())
    addEventListener('pageshow', ({ persisted }) => persisted && this.#takePart())
    if (!('locks' in navigator))
      document.addEventListener('visibilitychange', () => (document.hidden ? this.#close() : this.#lead()))
    this.#takePart()
  }

  /** Without locks, which browsers give only to pages of HTTPS and of their own machine, each visible window has a stream. */
  #takePart() {
    if (!('locks' in navigator)) {
      if (!document.hidden) this.#lead()
      return
    }
    this.#send({ kind: 'ask' })
    void navigator.locks.request(this.#name, () => {
      this.#lead()
      const { promise, resolve } = Promise.withResolvers<void>()
      addEventListener('pagehide', () => resolve(), { once: true })
      return promise
    })
  }

  #lead() {
    this.#isLeader = true
    this.#open()
  }

  #open() {
    clearTimeout(this.#timer)
    if (!this.#isLeader || this.#source !== undefined) return
    const since = this.#tag === '' ? '' : `?since=${encodeURIComponent(this.#tag)}`
    const source = new EventSource(this.#api.url(`v1/events${since}`))
    this.#source = source
    source.onopen = () => {
      this.#pauseMs = PAUSE_MS_MIN
      this.#announce({ kind: 'connected', isConnected: true })
    }
    for (const kind of KINDS)
      source.addEventListener(kind, ({ data, lastEventId }) => {
        this.#announce({ kind: 'change', change: { kind, ...JSON.parse(data) }, tag: lastEventId })
      })
    source.addEventListener('reset', ({ lastEventId }) => this.#announce({ kind: 'reset', tag: lastEventId }))
    source.onerror = () => {
      this.#announce({ kind: 'connected', isConnected: false })
      // A connection that broke comes back by itself; one that was refused does not.
      if (source.readyState === EventSource.CLOSED) void this.#openAgain()
      else void this.#checkSession()
    }
  }

  async #openAgain() {
    this.#source = undefined
    await this.#checkSession()
    const pause = this.#pauseMs * (0.5 + Math.random())
    this.#pauseMs = Math.min(2 * this.#pauseMs, PAUSE_MS_MAX)
    this.#timer = setTimeout(() => this.#open(), pause)
  }

  /** Leads to the login if the session has ended, which ends the stream, too. */
  async #checkSession() {
    await this.#api.call('v1/whoami').catch(() => {})
  }

  #close() {
    clearTimeout(this.#timer)
    this.#isLeader = false
    this.#source?.close()
    this.#source = undefined
  }

  #announce(message: Message) {
    this.#take(message)
    this.#send(message)
  }

  #send(message: Message) {
    this.#channel.postMessage(message)
  }

  #hear(message: Message) {
    if (message.kind === 'ask') {
      if (this.#isLeader) this.#send({ kind: 'connected', isConnected: this.#isConnected })
    } else if (!this.#isLeader) this.#take(message)
  }

  #take(message: Message) {
    switch (message.kind) {
      case 'change':
        this.#tag = message.tag
        for (const listener of this.#listeners) listener(message.change)
        return
      case 'reset':
        this.#tag = message.tag
        return this.#events.reset()
      case 'connected':
        this.#isConnected = message.isConnected
        return this.#events.connected(message.isConnected)
    }
  }
}
