import { setTimeout as pause } from 'node:timers/promises'
import { StorageUnavailableError } from '../errors.ts'
import type { Family } from '../metrics/family.ts'
import { type Change, namesOf } from '../store/change.ts'
import type { CheckChange, SharedChangeLog } from '../store/change-log.ts'
import type { Records } from '../store/records.ts'
import { Batch, type BatchBase } from './batch.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import { storeIdOf } from './cluster-meta.ts'
import { type BatchActivity, clusterMetrics } from './cluster-metrics.ts'
import type { ClusterState } from './cluster-reading.ts'
import { EtcdError } from './etcd-error.ts'
import type { ClusterFollower } from './follower.ts'
import type { Gateway } from './gateway.ts'
import { Gathering } from './gathering.ts'
import type { TransactionAnswer, WatchEvent } from './messages.ts'
import { type NodeEntry, parseNodeEntry } from './node-entry.ts'
import { type NodeIdentity, NodePosition } from './node-position.ts'
import { changesOfRevision } from './revision-changes.ts'
import { CLUSTER_CHANGE_MS, ETCD_RETRY_PAUSE_MS, LOST_PAUSE_MS_MAX } from './settled-transaction.ts'
import { checkImport, copied, finalRefusal, notTaken, tooLarge, WaitingChanges } from './waiting-changes.ts'

/** After so long without a change of another node, a node counts on there being none. */
const CLUSTER_ALONE_MS = 1_000
/**
 * Batches kept after giving up on them: if the watch still reports one, its lines in the audit trail can have the addresses
 * of its callers.
 */
const GIVEN_UP_BATCHES_MAX = 16

export interface ChangeLogParts extends NodeIdentity {
  readonly gateway: Gateway
  readonly keys: ClusterKeys
  readonly state: ClusterState
  readonly follower: Pick<ClusterFollower, 'catchUp' | 'isBehind' | 'isCurrent' | 'metrics'>
  /** Called when this process must not go on. */
  readonly fail: (error: Error) => void
  readonly records: Records
  /** Milliseconds of a monotonic clock. */
  readonly elapsed?: () => number
}

type Verdict =
  | 'made'
  /** Another batch came first. */
  | 'outdated'
  /** Only a change of the same record came first. */
  | 'contested'

/** What kept etcd from answering. */
interface Failure {
  readonly cause: unknown
}

const NOT_SENT: Failure = { cause: undefined }

/** Makes changes in etcd, those that wait as one transaction, and takes up what all nodes have changed. */
export class EtcdChangeLog implements SharedChangeLog {
  readonly #parts: ChangeLogParts
  readonly #elapsed: () => number
  #store: string
  readonly #position: NodePosition
  /** When another node was last heard to change records, by the monotonic clock. */
  #othersMs = Number.NEGATIVE_INFINITY
  readonly #waiting = new WaitingChanges()
  /** Batches that were sent, by their number, until the index has them. */
  readonly #sent = new Map<number, Batch>()
  #sending: Promise<void> | undefined
  readonly #gathering = new Gathering()
  #isClosing = false
  /** How often everything was read again. */
  #readings = 0
  readonly #activity: BatchActivity = { batches: 0, changes: 0, lost: 0, uncertain: 0 }
  readonly metrics: readonly Family[]

  /** @throws {ClusterRefusedError} if the key of the node cannot be read. */
  constructor(parts: ChangeLogParts) {
    const { state, follower, elapsed = () => performance.now() } = parts
    this.#parts = parts
    this.#elapsed = elapsed
    this.#store = storeIdOf(state.meta.value)
    this.#position = new NodePosition(parts, state)
    this.metrics = [...clusterMetrics(this.#activity), ...follower.metrics]
  }

  get store(): string {
    return this.#store
  }

  get isWritable(): boolean {
    return this.#parts.follower.isCurrent
  }

  append(change: Change, check?: CheckChange): Promise<Change> {
    this.#checkRoom()
    const { promise, resolve, reject } = Promise.withResolvers<Change>()
    this.#waiting.add({ change, seen: this.#seen(change), until: this.#until, check, resolve, reject })
    this.#gathering.came()
    this.#sendSoon()
    return promise
  }

  async appendTogether(changes: readonly Change[], revision: number, check?: CheckChange): Promise<number> {
    this.#checkRoom()
    checkImport(changes, this.#parts.keys)
    const { promise, resolve, reject } = Promise.withResolvers<Change>()
    const until = this.#until
    const pending = changes.map((change) => ({ change, seen: undefined, until, check, resolve, reject }))
    const batch = new Batch(pending, revision)
    this.#waiting.add(batch)
    this.#sendSoon()
    // A refusal of one is one of all.
    await promise
    return (await batch.settled) ?? revision
  }

  catchUp(): Promise<void> {
    return this.#parts.follower.catchUp()
  }

  async close(): Promise<void> {
    this.#isClosing = true
    while (this.#sending !== undefined) await this.#sending
    await Promise.all([...this.#sent.values()].map(({ settled }) => settled))
  }

  /** Takes up the events of one revision, which follows those before. @throws {SyntaxError} for a value that is not a record. */
  take(revision: number, events: readonly WatchEvent[]): void {
    const { keys, records, node } = this.#parts
    let entry: NodeEntry | undefined
    let own: NodeEntry | undefined
    let moves = false
    for (const event of events) {
      if (event.kind !== 'put') continue
      const writer = keys.nodeOf(event.kv.key)
      if (event.kv.key === keys.sequence) this.#position.takeSequence(event.kv)
      if (writer === undefined) moves ||= event.kv.key === keys.meta
      else {
        entry = parseNodeEntry(event.kv.value)
        moves = true
        if (writer === node) own = this.#position.takeOwn(entry, revision)
        else this.#othersMs = this.#elapsed()
      }
    }
    const found = changesOfRevision(events, keys, (name) => records.index.find(name), entry)
    const batch = own && this.#sent.get(own.batch)
    // Here its callers' addresses are known, too.
    const changes = batch?.signed(found) ?? found
    if (moves || changes.length > 0) records.applyAt(revision, changes)
    batch?.settle(revision, changes)
    // Those before it were made, or never will be.
    if (own !== undefined)
      for (const number of this.#sent.keys()) if (number <= own.batch) this.#sent.delete(number)
  }

  /** Goes on from a new reading of everything. @throws {ClusterRefusedError} if ids would be given again. */
  replace(state: ClusterState): void {
    const store = storeIdOf(state.meta.value)
    this.#position.replace(state, store === this.#store)
    this.#readings += 1
    this.#store = store
    this.#parts.records.replace(state.index)
    for (const [number, batch] of this.#sent) {
      // Records that others have changed since do not show what it did.
      if (batch.mayBeMade) batch.giveUp()
      else if (batch.isImport) batch.settle(0, [])
      if (batch.isSettled) this.#sent.delete(number)
    }
    this.#waiting.refuseImports()
  }

  get #until(): number {
    return this.#elapsed() + CLUSTER_CHANGE_MS
  }

  #checkRoom() {
    if (this.#isClosing)
      throw new StorageUnavailableError('Cannot store the change: the store is being closed')
    this.#waiting.checkRoom()
  }

  #seen(change: Change): string | undefined {
    const [name = ''] = namesOf(change)
    return 'add' in change ? undefined : this.#parts.records.index.find(name)?.json
  }

  #sendSoon() {
    this.#sending ??= this.#sendAll()
  }

  async #sendAll() {
    // What comes in the same turn of the event loop goes together.
    await Promise.resolve()
    try {
      while (this.#waiting.length > 0) await this.#sendNext()
    } finally {
      // In the same turn as the last look at what waits, or a change could come in between.
      this.#sending = undefined
    }
  }

  async #sendNext() {
    await this.#gathering.complete(() => this.#waiting.length, this.#elapsed)
    this.#waiting.refuseLate(this.#elapsed())
    if (this.#waiting.length === 0) return
    const begin = this.#elapsed()
    const batch = this.#waiting.take()
    await this.#send(batch)
    const callers = batch.isImport ? 1 : batch.changes.length
    this.#gathering.ended(callers + this.#waiting.length, begin, this.#elapsed())
  }

  /** Sends a batch until it is known what came of it, or its time is over. */
  async #send(batch: Batch) {
    // When it is sent, so that those that are made have rising numbers.
    batch.number = this.#position.nextBatch()
    this.#sent.set(batch.number, batch)
    while (!batch.isSettled) {
      batch.judge()
      if (batch.isSettled) return void this.#sent.delete(batch.number)
      if (this.#position.isCopied)
        return batch.mayBeMade ? batch.giveUp(copied()) : this.#refuse(batch, copied())
      const why = this.#parts.follower.isBehind ? NOT_SENT : await this.#attempt(batch)
      if (batch.isSettled || why === 'made') return
      if (why === 'contested') {
        batch.separate()
        continue
      }
      if (this.#elapsed() >= batch.until) return this.#giveUp(batch, why)
      await pause(why === 'outdated' ? Math.random() * LOST_PAUSE_MS_MAX : ETCD_RETRY_PAUSE_MS)
    }
  }

  /** @returns What came of it, unless the batch is settled. */
  async #attempt(batch: Batch): Promise<Verdict | Failure> {
    const { gateway, keys, node, start } = this.#parts
    const isNewest = this.#isNewestFor(batch)
    const base = {
      ...{ keys, node, start, isNewest },
      ...{ nodeModRevision: this.#position.modRevision, sequence: this.#position.sequence },
    }
    const wasInDoubt = batch.mayBeMade
    const readings = this.#readings
    batch.mayBeMade = true
    try {
      const answer = await gateway.transact(batch.transaction(base))
      // It was given up, and its revisions may be of another past.
      if (readings !== this.#readings) return NOT_SENT
      if (answer.succeeded) return this.#sentWell(batch, answer.revision)
      batch.mayBeMade = wasInDoubt
      const found = this.#takeFailure(answer, base, batch)
      if (batch.isSettled) return found
      if (found === 'made') return this.#sentWell(batch, this.#position.modRevision)
      this.#activity.lost += 1
      // Once the key of the node has moved, nothing that was sent before can be made any more.
      if (this.#position.modRevision !== base.nodeModRevision) batch.mayBeMade = false
      if (batch.isImport) this.#refuse(batch, undefined)
      if (!isNewest) return found
      this.#othersMs = this.#elapsed()
      return 'outdated'
    } catch (error) {
      // A key that cannot be read: the watch reports it, too, and then everything is read again.
      if (error instanceof SyntaxError || batch.isSettled) return { cause: error }
      if (!(error instanceof EtcdError)) this.#refuse(batch, error)
      else if (error.isUndone) batch.mayBeMade = wasInDoubt
      else if (!wasInDoubt) this.#activity.uncertain += 1
      if (error instanceof EtcdError && !batch.mayBeMade) this.#refuseIfFinal(batch, error)
      return { cause: error }
    }
  }

  /**
   * Whether the index is known to have all changes of records up to the last one of this node, and seems to have all others.
   * While this node's key is unchanged and no other node's key is newer, the index therefore equals what etcd holds: each
   * change that a connbook makes of a record comes with one of these keys.
   */
  #isNewestFor(batch: Batch): boolean {
    const { index } = this.#parts.records
    return (
      !batch.isImport &&
      index.revision === this.#position.modRevision &&
      this.#elapsed() >= this.#othersMs + CLUSTER_ALONE_MS &&
      batch.isFitFor((name) => index.find(name))
    )
  }

  #sentWell(batch: Batch, revision: number): 'made' {
    batch.mayBeMade = true
    this.#activity.batches += 1
    this.#activity.changes += batch.changes.length
    this.#position.wrote(revision)
    // The watch reports what it did, and usually has already.
    if (!batch.isSettled) {
      const timer = setTimeout(() => this.#giveUp(batch, 'made'), batch.until - this.#elapsed())
      void batch.settled.then(() => clearTimeout(timer))
    }
    return 'made'
  }

  /**
   * Learns from an answer that says that a batch was not made.
   *
   * @param base What the batch went on from.
   * @throws {SyntaxError} if the key of the node or the sequence cannot be read.
   */
  #takeFailure({ answers }: TransactionAnswer, base: BatchBase, { number, hasAdditions }: Batch): Verdict {
    const { keys } = this.#parts
    const [own, sequence] = answers.map((answer) =>
      answer.kind === 'range' ? answer.range.kvs[0] : undefined,
    )
    if (sequence?.key === keys.sequence) this.#position.takeSequence(sequence)
    if (own === undefined) this.#position.takeRemoval()
    if ((own?.modRevision ?? 0) === base.nodeModRevision) {
      const isSequenceMoved = hasAdditions && sequence?.modRevision !== base.sequence.modRevision
      return isSequenceMoved ? 'outdated' : 'contested'
    }
    if (own === undefined) return 'outdated'
    const made = this.#position.takeOwn(parseNodeEntry(own.value), own.modRevision)
    return made?.batch === number ? 'made' : 'outdated'
  }

  /** If no other attempt would change a refusal, it is that of the batch. */
  #refuseIfFinal(batch: Batch, error: EtcdError) {
    if (error.reason === 'too_large') return this.#divide(batch)
    const refusal = finalRefusal(error)
    if (refusal !== undefined) this.#refuse(batch, refusal)
  }

  /** The changes of half of it go first. */
  #divide(batch: Batch) {
    if (batch.isImport || batch.changes.length === 1) return this.#refuse(batch, tooLarge())
    this.#sent.delete(batch.number)
    this.#waiting.addFirst(batch.halves())
  }

  #refuse(batch: Batch, error: unknown) {
    this.#sent.delete(batch.number)
    if (error === undefined) batch.settle(0, [])
    else batch.refuse(error)
  }

  /** A batch that may be made stays known for a while: the watch may still report its changes. */
  #giveUp(batch: Batch, why: Verdict | Failure) {
    const cause = typeof why === 'string' ? undefined : why.cause
    if (!batch.mayBeMade) return this.#refuse(batch, notTaken(cause))
    batch.giveUp(cause)
    for (const [number, { isSettled }] of this.#sent)
      if (isSettled && this.#sent.size > GIVEN_UP_BATCHES_MAX) this.#sent.delete(number)
  }
}
