import type { Log } from '../log.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import { EtcdError } from './etcd-error.ts'
import type { Gateway } from './gateway.ts'
import { isAbsent, put, type Transaction, valueIs } from './messages.ts'

/** Pause before a full etcd is asked again whether there is room. */
export const ETCD_ROOM_CHECK_MS = 1_000

/** Whether etcd has room for changes: once it is full, it refuses all of them until an operator disarms its alarm. */
export class EtcdRoom {
  /** The same gateway; a refusal for lack of room is noted. */
  readonly gateway: Gateway
  readonly #inner: Gateway
  readonly #log: Log
  readonly #trial: Transaction
  #isFull = false
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(inner: Gateway, keys: ClusterKeys, log: Log) {
    this.#inner = inner
    this.#log = log
    // etcd refuses it like a change, and makes nothing of it: no key is absent and has a value.
    this.#trial = {
      compare: [isAbsent(keys.meta), valueIs(keys.meta, '')],
      success: [put(keys.meta, '')],
      failure: [],
    }
    this.gateway = {
      get endpoint() {
        return inner.endpoint
      },
      useNext: () => inner.useNext(),
      range: (query, options) => inner.range(query, options),
      transact: (transaction, options) => this.#noting(inner.transact(transaction, options)),
      grantLease: (ttlSeconds, options) => this.#noting(inner.grantLease(ttlSeconds, options)),
      watch: (watched) => inner.watch(watched),
      close: () => inner.close(),
    }
  }

  /** Whether etcd refuses changes for lack of room, as far as this node knows. */
  get isFull(): boolean {
    return this.#isFull
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  async #noting<Answer>(answer: Promise<Answer>): Promise<Answer> {
    try {
      return await answer
    } catch (error) {
      if (error instanceof EtcdError && error.reason === 'no_space') this.#note(error)
      throw error
    }
  }

  #note({ endpoint, message }: EtcdError) {
    if (this.#isFull) return
    this.#isFull = true
    this.#log.error('cluster_changes_refused', { endpoint, reason: message })
    this.#tryLater()
  }

  /** The next trial begins after the last one has ended, however slow etcd is. */
  #tryLater() {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.#try(), ETCD_ROOM_CHECK_MS).unref()
  }

  async #try() {
    try {
      await this.#inner.transact(this.#trial)
    } catch {
      // Still full; or not reached, which the follower reports.
      this.#tryLater()
      return
    }
    this.#isFull = false
    this.#log.info('cluster_changes_accepted_again', { endpoint: this.#inner.endpoint })
  }
}
