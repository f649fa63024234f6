import { FolderInUseError } from '../errors.ts'
import { refusedKey } from './cluster-error.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import { type ClusterState, parseSequence, type Versioned } from './cluster-reading.ts'
import type { Gateway } from './gateway.ts'
import type { KeyValue } from './messages.ts'
import { type NodeEntry, parseNodeEntry } from './node-entry.ts'

/** Which process this is, among all that change the store. */
export interface NodeIdentity {
  /** Random, made once for a data folder. */
  readonly node: string
  /** Random, made at each start. */
  readonly start: string
}

interface PositionParts extends NodeIdentity {
  readonly gateway: Gateway
  readonly keys: ClusterKeys
  /** Called when this process must not go on. */
  readonly fail: (error: Error) => void
}

/** What the next batch of this node goes on from: the key of the node, and the last id that was given. */
export class NodePosition {
  readonly #parts: PositionParts
  #sequence: Versioned<number>
  #modRevision: number
  #lastBatch: number
  /**
   * Whether the key of the node was last written by this process. Before that, a batch of an earlier process may still
   * arrive; after it, none can, because each compares the key with what it was.
   */
  #isOwn = false
  #isCopied = false

  /** @throws {ClusterRefusedError} if the key of the node cannot be read. */
  constructor(parts: PositionParts, { sequence, nodes }: ClusterState) {
    this.#parts = parts
    this.#sequence = sequence
    const own = nodes.get(parts.node)
    this.#modRevision = own?.modRevision ?? 0
    this.#lastBatch = own === undefined ? 0 : batchOf(own.value, parts)
  }

  /** The last id that was given to a record. */
  get sequence(): Versioned<number> {
    return this.#sequence
  }

  /** Whether another process is the same node. One more batch of this one would end that one, too. */
  get isCopied(): boolean {
    return this.#isCopied
  }

  /** Revision at which the key of the node was last written; 0 without a key. */
  get modRevision(): number {
    return this.#modRevision
  }

  /** The number of the next batch. */
  nextBatch(): number {
    this.#lastBatch += 1
    return this.#lastBatch
  }

  /**
   * Goes on from a new reading of everything.
   *
   * @param isSameStore Whether ids go on, too.
   * @throws {ClusterRefusedError} if ids would be given again.
   */
  replace({ sequence, nodes }: ClusterState, isSameStore: boolean): void {
    const { gateway, keys, node } = this.#parts
    if (isSameStore && sequence.value < this.#sequence.value)
      throw refusedKey(keys.sequence, gateway, lowered(sequence.value, this.#sequence.value))
    this.#sequence = sequence
    this.#modRevision = nodes.get(node)?.modRevision ?? 0
    this.#isOwn = false
  }

  /** @throws {SyntaxError} if it cannot be read, or ids would be given again. */
  takeSequence({ value, modRevision }: KeyValue): void {
    if (modRevision <= this.#sequence.modRevision) return
    const id = parseSequence(value)
    if (id < this.#sequence.value) throw lowered(id, this.#sequence.value)
    this.#sequence = { value: id, modRevision }
  }

  /**
   * Takes the key of the node. Fails this process if another one is the same node.
   *
   * @returns The entry, if this process wrote it.
   */
  takeOwn(entry: NodeEntry, revision: number): NodeEntry | undefined {
    const isOwn = entry.start === this.#parts.start
    // An older one was overtaken, or is of a snapshot from which etcd was restored: then everything is read again soon.
    if (revision > this.#modRevision) {
      if (this.#isOwn && !isOwn) this.#failAsCopied()
      this.#isOwn = isOwn
      this.#modRevision = revision
      this.#lastBatch = Math.max(this.#lastBatch, entry.batch)
    }
    return isOwn ? entry : undefined
  }

  /** A key that was not used for long is removed. */
  takeRemoval(): void {
    this.#modRevision = 0
  }

  /** This process has written the key. */
  wrote(revision: number): void {
    this.#modRevision = Math.max(this.#modRevision, revision)
    this.#isOwn = true
  }

  #failAsCopied() {
    const { node, fail } = this.#parts
    this.#isCopied = true
    fail(
      new FolderInUseError(
        `Cannot go on: another process changes records as node ${node}, so the data folder was copied; give each node a folder of its own`,
      ),
    )
  }
}

function batchOf(entry: string, { keys, node, gateway }: PositionParts): number {
  try {
    return parseNodeEntry(entry).batch
  } catch (error) {
    throw refusedKey(keys.node(node), gateway, error)
  }
}

function lowered(id: number, given: number): SyntaxError {
  return new SyntaxError(`the last id is ${id} now, although ${given} was given`)
}
