import { setTimeout as pause } from 'node:timers/promises'
import { OvertakenError, StorageFullError, StorageUnavailableError, TooManyChangesError } from '../errors.ts'
import type { Family } from '../metrics/family.ts'
import type { Change } from '../store/change.ts'
import type { ChangeLog, Commit, Committed } from '../store/change-log.ts'
import type { Records } from '../store/records.ts'
import { BATCH_NAMES_MAX, Batch, type BatchBase, checkBulk } from './batch.ts'
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

/** Makes changes in etcd, and takes up what all nodes have changed. */
export class EtcdChangeLog implements ChangeLog {
  readonly #parts: ChangeLogParts
  readonly #elapsed: () => number
  #store: string
  readonly #position: NodePosition
  /** Batches that were sent, by their number, until the index has them. */
  readonly #sent = new Map<number, Batch>()
  readonly #activity: BatchActivity = { batches: 0, changes: 0, lost: 0, uncertain: 0 }
  readonly metrics: readonly Family[]
  readonly namesMax = BATCH_NAMES_MAX
  /** A transaction cannot write a key twice. */
  readonly allowsSequences = false
  readonly waitMsMax = CLUSTER_CHANGE_MS
  readonly linger = new Gathering()

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

  /** The follower reads who may do what. */
  prepare(): undefined {}

  /** `catchUp` says whether etcd answers. */
  checkWritable(): void {}

  async commit(commit: Commit): Promise<Committed> {
    const { keys, records } = this.#parts
    if (commit.isBulk) checkBulk(commit.changes, keys)
    const batch = new Batch(this.#position.nextBatch(), commit, keys, records.index)
    this.#sent.set(batch.number, batch)
    void this.#send(batch, commit)
    return batch.made
  }

  catchUp(): Promise<void> {
    return this.#parts.follower.catchUp()
  }

  /** The writer is closed before: nothing is under way. */
  async close(): Promise<void> {}

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
      }
    }
    const found = changesOfRevision(events, keys, (name) => records.index.find(name), entry)
    const batch = own && this.#sent.get(own.batch)
    // Here its callers' addresses are known, too.
    const changes = batch?.signed(found) ?? found
    if (moves || changes.length > 0) records.applyAt(revision, changes)
    if (batch !== undefined) this.#settle(batch, revision, changes)
    // Those before it were made, or never will be.
    if (own !== undefined)
      for (const number of this.#sent.keys()) if (number <= own.batch) this.#sent.delete(number)
  }

  /** Goes on from a new reading of everything. @throws {ClusterRefusedError} if ids would be given again. */
  replace(state: ClusterState): void {
    const store = storeIdOf(state.meta.value)
    this.#position.replace(state, store === this.#store)
    this.#store = store
    this.#parts.records.replace(state.index)
    // Records that others have changed since do not show what a batch did.
    for (const batch of this.#sent.values())
      if (batch.mayBeMade) batch.giveUp()
      else batch.refuse(new OvertakenError())
    this.#sent.clear()
  }

  #settle(batch: Batch, revision: number, changes: readonly Change[]) {
    this.#activity.batches += 1
    this.#activity.changes += changes.length
    batch.settle(revision, changes)
  }

  /** Sends a batch until it is known what came of it, or its time is over. */
  async #send(batch: Batch, { check, sinceMs }: Commit) {
    const untilMs = sinceMs + CLUSTER_CHANGE_MS
    while (!batch.isSettled) {
      try {
        check()
      } catch (refusal) {
        if (!batch.mayBeMade) return this.#refuse(batch, refusal)
        batch.isVoid = true
      }
      if (this.#position.isCopied)
        return batch.mayBeMade ? batch.giveUp(copied()) : this.#refuse(batch, copied())
      const why = this.#parts.follower.isBehind ? NOT_SENT : await this.#attempt(batch)
      if (batch.isSettled) return
      if (why === 'made') return this.#awaitWatch(batch, untilMs)
      const isOvertaken = why === 'contested' || (why === 'outdated' && (batch.isBulk || batch.isVoid))
      if (isOvertaken && !batch.mayBeMade) return this.#refuse(batch, new OvertakenError())
      if (this.#elapsed() >= untilMs) return this.#giveUp(batch, why)
      batch.isVoid ||= isOvertaken
      await pause(typeof why === 'string' ? Math.random() * LOST_PAUSE_MS_MAX : ETCD_RETRY_PAUSE_MS)
    }
  }

  /** @returns What came of it, unless the batch is settled. */
  async #attempt(batch: Batch): Promise<Verdict | Failure> {
    const { gateway, node, start } = this.#parts
    const { modRevision: nodeModRevision, sequence } = this.#position
    const base = { node, start, nodeModRevision, sequence }
    const wasInDoubt = batch.mayBeMade
    batch.mayBeMade = true
    try {
      const answer = await gateway.transact(batch.transaction(base))
      // The watch was faster; or all was read anew, and the revision may be of another past.
      if (batch.isSettled) return 'made'
      if (answer.succeeded) {
        this.#position.wrote(answer.revision)
        return 'made'
      }
      batch.mayBeMade = wasInDoubt
      const found = this.#takeFailure(answer, base, batch)
      if (found === 'made') return found
      this.#activity.lost += 1
      // Once the key of the node has moved, nothing that was sent before can be made any more.
      if (this.#position.modRevision !== nodeModRevision) batch.mayBeMade = false
      return found
    } catch (error) {
      // A key that cannot be read: the watch reports it, too, and then everything is read again.
      if (error instanceof SyntaxError || batch.isSettled) return { cause: error }
      if (!(error instanceof EtcdError)) this.#refuse(batch, error)
      else if (error.isUndone) batch.mayBeMade = wasInDoubt
      else if (!wasInDoubt) this.#activity.uncertain += 1
      const refusal = error instanceof EtcdError ? finalRefusal(error, batch) : undefined
      if (refusal !== undefined && !batch.mayBeMade) this.#refuse(batch, refusal)
      return { cause: error }
    }
  }

  /** The watch reports what an attempt did. */
  #awaitWatch(batch: Batch, untilMs: number) {
    batch.mayBeMade = true
    const timer = setTimeout(() => this.#giveUp(batch, 'made'), untilMs - this.#elapsed())
    const stop = () => clearTimeout(timer)
    batch.made.then(stop, stop)
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

  #refuse(batch: Batch, error: unknown) {
    this.#sent.delete(batch.number)
    batch.refuse(error)
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

function notTaken(cause: unknown): StorageUnavailableError {
  return new StorageUnavailableError('Cannot store the change: etcd takes no changes now; try later', {
    cause,
  })
}

/** For a process that ends, because another one is the same node. */
function copied(): StorageUnavailableError {
  return new StorageUnavailableError(
    'Cannot store the change: another process has a copy of the data folder, and this one ends; ask another node',
  )
}

/** What a batch is refused with that no other attempt would make; undefined if another one may. */
function finalRefusal(error: EtcdError, { isBulk, changes }: Batch): Error | undefined {
  switch (error.reason) {
    case 'too_large':
      // Fewer of them may fit.
      if (!isBulk && changes.length > 1) return new OvertakenError()
      return new TooManyChangesError(
        'Cannot store so much at once: etcd refuses it as too large; make it several',
      )
    case 'no_space':
      return new StorageFullError('Cannot store the change: etcd is full', { cause: error })
    case 'denied':
    case 'login_failed':
    case 'common_name':
    case 'unexpected':
      return new StorageUnavailableError('Cannot store the change: etcd refuses it; see the log', {
        cause: error,
      })
    default:
      return undefined
  }
}
