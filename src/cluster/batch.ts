import { OutcomeUnknownError, OvertakenError } from '../errors.ts'
import { notesOf } from '../store/authorship.ts'
import { type Change, namesOf } from '../store/change.ts'
import type { CheckChange } from '../store/change-log.ts'
import { Configuration } from '../store/configuration.ts'
import type { ClusterKeys } from './cluster-keys.ts'
import type { Versioned } from './cluster-reading.ts'
import {
  type Compare,
  type EtcdOperation,
  isAbsent,
  modBelow,
  modIs,
  nested,
  put,
  read,
  remove,
  type Transaction,
  valueIs,
} from './messages.ts'
import { encodeNodeEntry } from './node-entry.ts'

/** Changes in one transaction of etcd, whose default of --max-txn-ops is 128; two more operations are the node's. */
export const BATCH_CHANGES_MAX = 120
/** Operations of each transaction within that of an import, three of which are on one way down. */
const IMPORT_FAN_OUT = 40

/** A change that waits to be made. */
export interface PendingChange {
  readonly change: Change
  /** The stored text of the record that it changes or removes, as it was when the change was decided. */
  readonly seen: string | undefined
  /** When it is given up, by the monotonic clock. */
  readonly until: number
  readonly check?: CheckChange | undefined
  readonly resolve: (made: Change) => void
  readonly reject: (error: unknown) => void
}

/** What a batch compares, and what it goes on from. */
export interface BatchBase {
  readonly keys: ClusterKeys
  readonly node: string
  readonly start: string
  /** Revision at which the key of the node was last written; 0 without a key. */
  readonly nodeModRevision: number
  readonly sequence: Versioned<number>
  /**
   * Whether the index has all changes up to the last one of this node, and probably no other node has changed anything since.
   */
  readonly isNewest: boolean
}

/** What several changes compare and do. */
type Step = Pick<Transaction, 'compare' | 'success'>

/** Changes that go to etcd as one transaction. Of a group, each is made or not by itself; an import is made as a whole. */
export class Batch {
  /** Counts the batches of the node; 0 until it is sent. */
  number = 0
  /** Those that were not refused. */
  changes: readonly PendingChange[]
  /** Those that the next attempt makes. */
  #attempted: readonly PendingChange[]
  /** Whether each change stands or falls by itself. */
  #isSeparate = false
  /** The revision for which an import was decided; undefined for a group. */
  readonly #importAt: number | undefined
  /** Resolves, with the revision at which it was made, once the index has it, or its callers know that it has failed. */
  readonly settled: Promise<number | undefined>
  readonly #settle: (revision: number | undefined) => void
  isSettled = false
  /** Whether it was sent, and it is not certain that etcd did nothing. */
  mayBeMade = false

  constructor(changes: readonly PendingChange[], importAt?: number) {
    this.changes = changes
    this.#attempted = changes
    this.#importAt = importAt
    const { promise, resolve } = Promise.withResolvers<number | undefined>()
    this.settled = promise
    this.#settle = resolve
  }

  get isImport(): boolean {
    return this.#importAt !== undefined
  }

  get hasAdditions(): boolean {
    return this.#attempted.some(({ change }) => 'add' in change)
  }

  /** When the first of its changes is given up. */
  get until(): number {
    return Math.min(...this.changes.map(({ until }) => until))
  }

  /** The transaction that makes it; safe to send again, because only one can find the key of the node as it compares it. */
  transaction(base: BatchBase): Transaction {
    const { keys, node, start, nodeModRevision, sequence } = base
    let lastId = sequence.value
    const made = this.#attempted.map(({ change }) =>
      'add' in change ? { add: new Configuration(++lastId, change.add) } : change,
    )
    const own = keys.node(node)
    const changes = this.#attempted.map(({ change }) => change)
    const { compare, success } = this.#form(made, base)
    return {
      compare: [
        modIs(own, nodeModRevision),
        ...(this.hasAdditions ? [modIs(keys.sequence, sequence.modRevision)] : []),
        ...compare,
      ],
      success: [
        put(own, encodeNodeEntry(this.number, start, changes, this.isImport)),
        ...(this.hasAdditions ? [put(keys.sequence, String(lastId))] : []),
        ...success,
      ],
      failure: [read({ key: own }), read({ key: keys.sequence })],
    }
  }

  /** Whether all records are still those for which its changes were decided. */
  isFitFor(find: (name: string) => Configuration | undefined): boolean {
    return this.changes.every(({ change, seen }) => {
      const [name = '', newName] = namesOf(change)
      return find(name)?.json === seen && (newName === undefined || find(newName) === undefined)
    })
  }

  /** Call it when one of its changes was overtaken, and kept the others from being made. */
  separate(): void {
    this.#isSeparate = true
  }

  /**
   * Judges its changes before an attempt; an import as a whole. What is not allowed any more is refused. If it may have been
   * made already, it is only left out: then what etcd did decides, and without it the change is decided again.
   */
  judge(): void {
    const refused = new Map<PendingChange, unknown>()
    // The changes of an import have one check.
    for (const change of this.isImport ? this.changes.slice(0, 1) : this.changes) {
      try {
        change.check?.()
      } catch (refusal) {
        refused.set(change, refusal)
      }
    }
    const [first] = refused.values()
    const isNone = this.isImport && refused.size > 0
    this.#attempted = isNone ? [] : this.changes.filter((change) => !refused.has(change))
    if (refused.size === 0 || this.mayBeMade) return
    for (const [{ reject }, refusal] of refused) reject(refusal)
    this.changes = this.#attempted
    if (this.changes.length === 0) this.refuse(first)
  }

  /** Two batches with its changes, in the place of this one. */
  halves(): Batch[] {
    this.isSettled = true
    this.#settle(undefined)
    const half = Math.ceil(this.changes.length / 2)
    return [new Batch(this.changes.slice(0, half)), new Batch(this.changes.slice(half))]
  }

  /**
   * All or nothing costs etcd a third less than each by itself, and nearly always succeeds. To compare once that no other node
   * has changed anything costs a tenth less again; it fails as soon as another node changes any record.
   */
  #form(made: readonly Change[], { keys, node, nodeModRevision, isNewest }: BatchBase): Step {
    const operations = made.map((change) => operationsOf(change, keys))
    const success = operations.flat()
    if (this.#importAt !== undefined)
      return {
        compare: [modBelow(keys.nodes.key, keys.nodes.end, this.#importAt + 1)],
        success: parts(success),
      }
    const isTogether = !this.#isSeparate && success.length <= BATCH_CHANGES_MAX
    if (isTogether && isNewest) return { compare: noneAfter(nodeModRevision, keys, node), success }
    const conditions = this.#attempted.map(({ change, seen = '' }) => conditionsOf(change, seen, keys))
    const compare = conditions.flat()
    if (isTogether && compare.length <= BATCH_CHANGES_MAX) return { compare, success }
    const each = operations.map((operation, i) =>
      nested({ compare: conditions[i] ?? [], success: operation, failure: [] }),
    )
    return { compare: [], success: each }
  }

  /** Its changes, as etcd has made them, with all that is known here of who made them. */
  signed(made: readonly Change[]): Change[] {
    const own = new Map(this.changes.map(({ change }) => [lastNameOf(change), change.authorship]))
    const notes = this.changes.map(({ change }) => notesOf(change.authorship ?? {}))
    const first = notes.find((one) => Object.keys(one).length > 0)
    return made.map((change, i) => {
      const authorship = own.get(lastNameOf(change))
      if (authorship === undefined) return change
      const { actor, time } = authorship
      return {
        ...change,
        authorship: { actor, time, ...(i === 0 ? first : {}) },
      }
    })
  }

  /** What the transaction did, as the index has it now: a change that is not there was overtaken. */
  settle(revision: number, made: readonly Change[]): void {
    if (this.isSettled) return
    this.isSettled = true
    const byName = new Map(made.map((change) => [lastNameOf(change), change]))
    for (const { change, resolve, reject } of this.changes) {
      const found = byName.get(lastNameOf(change))
      if (found === undefined) reject(new OvertakenError())
      else resolve(found)
    }
    this.#settle(revision)
  }

  /** @param error For each of its changes. */
  refuse(error: unknown): void {
    if (this.isSettled) return
    this.isSettled = true
    for (const { reject } of this.changes) reject(error)
    this.#settle(undefined)
  }

  /** Nobody can know whether it was made. */
  giveUp(cause?: unknown): void {
    this.refuse(
      new OutcomeUnknownError(
        'Cannot tell whether the change was made: etcd did not answer in time; read the record, and send the change again if it is not there',
        { cause },
      ),
    )
  }
}

/** The name under which a change leaves or removes a record. */
function lastNameOf(change: Change): string {
  return namesOf(change).at(-1) ?? ''
}

/** No node but one has made a batch after a revision. */
function noneAfter(revision: number, keys: ClusterKeys, node: string): Compare[] {
  const own = keys.node(node)
  return [
    modBelow(keys.nodes.key, own, revision + 1),
    // The least key after its own.
    modBelow(`${own}\0`, keys.nodes.end, revision + 1),
  ]
}

function conditionsOf(change: Change, seen: string, keys: ClusterKeys) {
  if ('add' in change) return [isAbsent(keys.record(change.add.name))]
  const [name = '', newName] = namesOf(change)
  const isSame = valueIs(keys.record(name), seen)
  return newName === undefined ? [isSame] : [isSame, isAbsent(keys.record(newName))]
}

function operationsOf(change: Change, keys: ClusterKeys): EtcdOperation[] {
  if ('remove' in change) return [remove(keys.record(change.remove))]
  const record = 'add' in change ? change.add : change.modify
  const stored = put(keys.record(record.name), record.json)
  const isRenamed = 'modify' in change && change.name !== record.name
  return isRenamed ? [remove(keys.record(change.name)), stored] : [stored]
}

/** Unconditional transactions in transactions: all operations on one way down count together as those of one. */
function parts(operations: readonly EtcdOperation[]): readonly EtcdOperation[] {
  if (operations.length <= IMPORT_FAN_OUT) return operations
  const groups: EtcdOperation[] = []
  for (let from = 0; from < operations.length; from += IMPORT_FAN_OUT) {
    const success = operations.slice(from, from + IMPORT_FAN_OUT)
    groups.push(nested({ compare: [], success, failure: [] }))
  }
  return parts(groups)
}
