import { setTimeout } from 'node:timers/promises'
import { StorageUnavailableError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Family } from '../metrics/family.ts'
import { RevisionWaiters, SharedQuestion } from './catching-up.ts'
import { ClusterRefusedError, missingKey } from './cluster-error.ts'
import type { ClusterKeys, KeyRange } from './cluster-keys.ts'
import { type ClusterMeta, parseMeta, raiseEpoch } from './cluster-meta.ts'
import { followerMetrics } from './cluster-metrics.ts'
import { type ClusterState, readCluster, type Versioned } from './cluster-reading.ts'
import { EtcdError } from './etcd-error.ts'
import type { Gateway } from './gateway.ts'
import type { WatchEvent } from './messages.ts'
import { byRevision } from './revision-changes.ts'

/** How often a node checks that it hears of all changes. */
export const CLUSTER_CHECK_MS = 1_000
/** How long the watch may be behind such a check before it is begun anew. */
export const CLUSTER_BEHIND_MS = 500
/** A node that knew so long ago that it misses nothing is not ready for changes. */
export const CLUSTER_CURRENT_MS = 3_000
/** Before the watch is begun again, at random up to this. */
const RECONNECT_PAUSE_MS_MAX = 100
/** Between readings of a cluster that holds what this program cannot read. */
export const CLUSTER_REFUSED_PAUSE_MS = 2_000

/** Gets what has changed. */
export interface FollowerOwner {
  /** Called for each revision in turn, with all that has changed below the prefix. */
  take(revision: number, events: readonly WatchEvent[]): void
  /** Everything was read again, because etcd no longer has the changes since the last revision. */
  replace(state: ClusterState): void
}

export interface FollowerParts {
  readonly gateway: Gateway
  readonly keys: ClusterKeys
  readonly log: Log
  /** What the owners know already. */
  readonly state: ClusterState
  /** Milliseconds of a monotonic clock. */
  readonly elapsed?: () => number
}

type FollowerState =
  /** The watch reports changes. */
  | 'following'
  | 'connecting'
  /** The changes are compacted, or cannot be read. Nothing is current until everything was read again. */
  | 'behind'
  /** etcd has another past than what was taken. Nothing is current until everything was read again. */
  | 'restored'

/** The reading that follows says more, or succeeds. */
class UntoldError extends Error {}

/** Hears of all changes below the prefix, and knows whether it misses any. */
export class ClusterFollower {
  readonly #gateway: Gateway
  readonly #keys: ClusterKeys
  readonly #log: Log
  readonly #elapsed: () => number
  readonly #owners: FollowerOwner[] = []
  readonly metrics: readonly Family[]
  #meta: Versioned<ClusterMeta>
  /** The last change of each node's key, as of `#revision`. */
  #nodes: Map<string, number>
  /** Revision of etcd up to which everything has been taken. */
  #revision: number
  #checkedMs: number
  #reconnects = -1
  readonly #waiters = new RevisionWaiters()
  /** Which revision the last change of records has. */
  readonly #newest = new SharedQuestion(() => this.#newestIn(this.#keys.nodes))
  #watch = new AbortController()
  readonly #closed = new AbortController()
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #toldReason: string | undefined
  #toldForeignKey: string | undefined
  #state: FollowerState = 'connecting'

  constructor({ gateway, keys, log, state, elapsed = () => performance.now() }: FollowerParts) {
    this.#gateway = gateway
    this.#keys = keys
    this.#log = log
    this.#elapsed = elapsed
    this.#meta = state.meta
    this.#nodes = nodesOf(state)
    this.#revision = state.revision
    this.#checkedMs = elapsed()
    this.metrics = followerMetrics(() => ({
      endpoint: gateway.endpoint,
      revision: this.#revision,
      secondsSinceCheck: this.checkAgeMs / 1000,
      reconnects: Math.max(0, this.#reconnects),
    }))
  }

  /** Since it last knew that it has heard of all changes. */
  get checkAgeMs(): number {
    return this.#elapsed() - this.#checkedMs
  }

  get isCurrent(): boolean {
    return this.checkAgeMs < CLUSTER_CURRENT_MS
  }

  /** Whether everything must be read again before changes can be followed. */
  get isBehind(): boolean {
    return this.#state === 'behind' || this.#state === 'restored'
  }

  /** Call it before `begin`; owners are called in the order in which they were added. */
  addOwner(owner: FollowerOwner): void {
    this.#owners.push(owner)
  }

  begin(): void {
    this.#running = this.#run()
    this.#timer = setInterval(() => void this.#check(), CLUSTER_CHECK_MS)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#closed.abort()
    this.#watch.abort()
    await this.#running
  }

  /**
   * Resolves once the owners have every change that was acknowledged anywhere before the call.
   *
   * @throws {StorageUnavailableError} if etcd does not say, or the changes do not come.
   */
  async catchUp(): Promise<void> {
    try {
      const revision = await this.#newest.ask()
      if (!this.#isReached(revision)) await this.#waiters.wait(revision)
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      throw new StorageUnavailableError(
        'Cannot tell whether the records are the newest: etcd does not answer; try later',
        { cause: error },
      )
    }
  }

  /** The revision of the last change in a range, by a linearizable read. */
  async #newestIn({ key, end }: KeyRange): Promise<number> {
    const known = this.#revision
    const query = { key, end, keysOnly: true, newestOnly: true }
    const { kvs, revision } = await this.#gateway.range(query, { signal: this.#closed.signal })
    // Unless everything was read again meanwhile.
    if (revision < known && known <= this.#revision && this.#state !== 'restored') {
      this.#state = 'restored'
      this.#watch.abort()
    }
    return kvs[0]?.modRevision ?? 0
  }

  /** Sees once a second whether anything is missing. */
  async #check() {
    try {
      const beganMs = this.#elapsed()
      const revision = Math.max(await this.#newest.ask(), await this.#newestIn(this.#keys.credentials))
      if (revision > this.#revision) await setTimeout(CLUSTER_BEHIND_MS)
      if (this.#state !== 'following') return
      if (revision > this.#revision) return this.#watchAnew('the changes do not come')
      this.#checkedMs = Math.max(this.#checkedMs, beganMs)
      if (this.#toldReason !== undefined)
        this.#log.info('cluster_reconnected', { endpoint: this.#gateway.endpoint })
      this.#toldReason = undefined
    } catch (error) {
      if (!this.#closed.signal.aborted) this.#watchAnew(error)
    }
  }

  #watchAnew(reason: unknown) {
    this.#report(reason)
    this.#watch.abort()
  }

  async #run() {
    while (!this.#closed.signal.aborted) {
      try {
        this.#watch = new AbortController()
        await this.#follow(this.#watch.signal)
      } catch (error) {
        if (this.#closed.signal.aborted) return
        if (error instanceof UntoldError) this.#state = 'behind'
        else if (!this.#watch.signal.aborted) this.#report(error)
        if (this.#state === 'following') this.#state = 'connecting'
        const isRefused = error instanceof ClusterRefusedError
        const pauseMs = isRefused ? CLUSTER_REFUSED_PAUSE_MS : Math.random() * RECONNECT_PAUSE_MS_MAX
        await setTimeout(pauseMs, undefined, { signal: this.#closed.signal }).catch(() => {})
        this.#gateway.useNext()
      }
    }
  }

  /** Logs each reason once in a row. */
  #report(error: unknown) {
    const reason = error instanceof Error ? error.message : String(error)
    if (reason !== this.#toldReason)
      this.#log.warn('cluster_disconnected', { endpoint: this.#gateway.endpoint, reason })
    this.#toldReason = reason
  }

  /** Logs each key once in a row. */
  #reportForeign(key: string) {
    if (key !== this.#toldForeignKey)
      this.#log.warn('cluster_unknown_key', { endpoint: this.#gateway.endpoint, key })
    this.#toldForeignKey = key
  }

  async #follow(signal: AbortSignal) {
    this.#reconnects += 1
    if (this.#state !== 'restored' && this.#reconnects > 0 && (await this.#isRestored()))
      this.#state = 'restored'
    if (this.isBehind) return this.#readAnew()
    const { key, end } = this.#keys.all
    for await (const message of this.#gateway.watch({ key, end, fromRevision: this.#revision + 1, signal })) {
      if (message.kind === 'compacted') {
        this.#state = 'behind'
        return this.#readAnew()
      }
      if (message.kind === 'created' && !this.isBehind) this.#state = 'following'
      if (message.kind === 'events') this.#take(message.events)
      this.#waiters.wake((revision) => this.#isReached(revision))
    }
  }

  #take(events: readonly WatchEvent[]) {
    for (const [revision, those] of byRevision(events)) this.#takeRevision(revision, those)
  }

  #takeRevision(revision: number, events: readonly WatchEvent[]) {
    // A watch that was begun again may report a revision twice.
    if (revision <= this.#revision) return
    try {
      for (const event of events) this.#takeOf(event)
      for (const owner of this.#owners) owner.take(revision, events)
    } catch (error) {
      if (this.#state === 'restored') throw error
      throw new UntoldError('what etcd tells cannot be taken', { cause: error })
    }
    for (const event of events) this.#takeNode(event, revision)
    this.#revision = revision
  }

  /** @throws {Error} if nothing can go on as before. */
  #takeOf(event: WatchEvent) {
    if (event.kind === 'delete') {
      if (this.#keys.isSingle(event.key)) throw missingKey(event.key, this.#gateway)
      return
    }
    const { key, value, modRevision } = event.kv
    if (key === this.#keys.meta) this.#takeMeta({ value: parseMeta(value), modRevision })
    if (!this.#keys.isKnown(key)) this.#reportForeign(key)
  }

  #takeNode(event: WatchEvent, revision: number) {
    const node = this.#keys.nodeOf(event.kind === 'put' ? event.kv.key : event.key)
    if (node === undefined) return
    if (event.kind === 'put') this.#nodes.set(node, revision)
    else this.#nodes.delete(node)
  }

  /** Another node saw that etcd was restored from a snapshot, and raised the epoch: reread everything here, too. */
  #takeMeta(meta: Versioned<ClusterMeta>) {
    if (meta.value.epoch !== this.#meta.value.epoch) {
      this.#state = 'restored'
      throw new Error('etcd was restored from a snapshot; all is read anew')
    }
    this.#meta = meta
  }

  /** Until the watch is there, nobody knows whether etcd has the same past. */
  #isReached(revision: number): boolean {
    return this.#state === 'following' && revision <= this.#revision
  }

  /**
   * Whether etcd has another past than this node: then it was restored from a snapshot, although its id is the same. Its
   * revision may be lower, or already higher, with other changes.
   */
  async #isRestored(): Promise<boolean> {
    const { key, end } = this.#keys.nodes
    const options = { signal: this.#closed.signal }
    const { revision } = await this.#gateway.range({ key, end, keysOnly: true }, options)
    if (revision < this.#revision) return true
    try {
      const then = await this.#gateway.range({ key, end, keysOnly: true, revision: this.#revision }, options)
      const nodes = new Map(then.kvs.map((kv) => [this.#keys.nodeOf(kv.key) ?? '', kv.modRevision]))
      return (
        nodes.size !== this.#nodes.size || [...nodes].some(([node, mod]) => this.#nodes.get(node) !== mod)
      )
    } catch (error) {
      // The watch says so, too, and then everything is read again.
      if (error instanceof EtcdError && error.reason === 'compacted') return false
      throw error
    }
  }

  /** If etcd was restored, the epoch has to rise, unless another node has done that. */
  async #readAnew() {
    for (;;) {
      const state = await readCluster(this.#gateway, this.#keys, {
        signal: this.#closed.signal,
        onForeign: (key) => this.#reportForeign(key),
      })
      if (state === undefined || state.meta.value.store !== this.#meta.value.store)
        throw new ClusterRefusedError(
          `The prefix "${this.#keys.prefix}" of etcd at ${this.#gateway.endpoint} ${state === undefined ? 'is empty now' : 'holds another store now'}; restart this node when that is right`,
        )
      const isOlder = [...this.#nodes].some(
        ([node, mod]) => (state.nodes.get(node)?.modRevision ?? mod) < mod,
      )
      const isRestored = this.#state === 'restored' || isOlder
      if (isRestored && state.meta.value.epoch <= this.#meta.value.epoch) {
        await raiseEpoch(this.#gateway, this.#keys, state.meta, this.#meta.value.epoch)
        continue
      }
      for (const owner of this.#owners) owner.replace(state)
      this.#log.warn('cluster_reloaded', { restored: isRestored, records: state.index.count })
      this.#meta = state.meta
      this.#nodes = nodesOf(state)
      this.#revision = state.revision
      this.#state = 'connecting'
      return
    }
  }
}

function nodesOf({ nodes }: ClusterState): Map<string, number> {
  return new Map([...nodes].map(([node, { modRevision }]) => [node, modRevision]))
}
