import { OutcomeUnknownError, OvertakenError, TooManyChangesError } from '../errors.ts'
import { notesOf } from '../store/authorship.ts'
import { type Change, namesOf } from '../store/change.ts'
import type { Commit, Committed } from '../store/change-log.ts'
import { Configuration } from '../store/configuration.ts'
import type { ConfigurationIndex } from '../store/configuration-index.ts'
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
import type { NodeIdentity } from './node-position.ts'

/**
 * Names that the changes of one transaction may take or free. Each is one condition and one operation of the 128 that etcd
 * allows by default (--max-txn-ops); the node's own key and the sequence are two more of each.
 */
export const BATCH_NAMES_MAX = 126
/** Operations of each transaction within that of a bulk, three of which are on one way down. */
const BULK_FAN_OUT = 40
/** Changes of a bulk, and bytes of its keys and values, that fit in one transaction. */
const BULK_CHANGES_MAX = 4_000
const BULK_BYTES_MAX = 1024 * 1024

/** What a batch goes on from. */
export interface BatchBase extends NodeIdentity {
  /** Revision at which the key of the node was last written; 0 without a key. */
  readonly nodeModRevision: number
  readonly sequence: Versioned<number>
}

/** Changes that go to etcd as one transaction, which makes all of them or none. */
export class Batch {
  /** Counts the batches of the node. */
  readonly number: number
  readonly changes: readonly Change[]
  readonly isBulk: boolean
  /** What must hold of the records. */
  readonly #conditions: readonly Compare[]
  readonly #keys: ClusterKeys
  /** Resolves once the index has it. Rejects when it is certain that it was not made, or nobody can know. */
  readonly made: Promise<Committed>
  readonly #resolve: (committed: Committed) => void
  readonly #reject: (error: unknown) => void
  isSettled = false
  /** Whether it was sent, and it is not certain that etcd did nothing. */
  mayBeMade = false
  /**
   * Whether it must not be made any more, although it may have been. Then a transaction without its changes is sent: once that
   * is made, no earlier attempt can be.
   */
  isVoid = false

  /** @param index The records for which the changes were decided. */
  constructor(number: number, { changes, isBulk }: Commit, keys: ClusterKeys, index: ConfigurationIndex) {
    this.number = number
    this.changes = changes
    this.isBulk = isBulk
    this.#keys = keys
    // No node has made a batch since: a condition for each change would be too many.
    this.#conditions = isBulk
      ? [modBelow(keys.nodes.key, keys.nodes.end, index.revision + 1)]
      : changes.flatMap((change) => conditionsOf(change, keys, index))
    const { promise, resolve, reject } = Promise.withResolvers<Committed>()
    this.made = promise
    this.#resolve = resolve
    this.#reject = reject
  }

  /** Whether an attempt gives ids. */
  get hasAdditions(): boolean {
    return !this.isVoid && this.changes.some((change) => 'add' in change)
  }

  /** The transaction of an attempt. Of all attempts only one can find the key of the node as it compares it. */
  transaction({ node, start, nodeModRevision, sequence }: BatchBase): Transaction {
    const keys = this.#keys
    const own = keys.node(node)
    const { hasAdditions } = this
    const changes = this.isVoid ? [] : this.changes
    let lastId = sequence.value
    const operations = changes.flatMap((change) =>
      operationsOf('add' in change ? { add: new Configuration(++lastId, change.add) } : change, keys),
    )
    return {
      compare: [
        modIs(own, nodeModRevision),
        ...(hasAdditions ? [modIs(keys.sequence, sequence.modRevision)] : []),
        ...(this.isVoid ? [] : this.#conditions),
      ],
      success: [
        put(own, encodeNodeEntry(this.number, start, changes, this.isBulk)),
        ...(hasAdditions ? [put(keys.sequence, String(lastId))] : []),
        ...(this.isBulk ? parts(operations) : operations),
      ],
      failure: [read({ key: own }), read({ key: keys.sequence })],
    }
  }

  /** Its changes, as etcd has made them, with all that is known here of who made them. */
  signed(made: readonly Change[]): Change[] {
    const own = new Map(this.changes.map((change) => [lastNameOf(change), change.authorship]))
    const notes = this.changes.map(({ authorship }) => notesOf(authorship ?? {}))
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

  /** @param made What its transaction did: all of it, or nothing if it was void. The index has it now. */
  settle(revision: number, made: readonly Change[]): void {
    const byName = new Map(made.map((change) => [lastNameOf(change), change]))
    const changes = this.changes.flatMap((change) => byName.get(lastNameOf(change)) ?? [])
    this.isSettled = true
    if (changes.length === this.changes.length) this.#resolve({ changes, revision })
    else this.#reject(new OvertakenError())
  }

  refuse(error: unknown): void {
    this.isSettled = true
    this.#reject(error)
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

/** @throws {TooManyChangesError} if the changes of a bulk do not fit in one transaction. */
export function checkBulk(changes: readonly Change[], keys: ClusterKeys): void {
  let bytes = 0
  for (const change of changes)
    for (const name of namesOf(change)) {
      bytes += Buffer.byteLength(keys.record(name))
      if (!('remove' in change)) bytes += ('add' in change ? change.add : change.modify).jsonBytes
    }
  if (changes.length > BULK_CHANGES_MAX || bytes > BULK_BYTES_MAX)
    throw new TooManyChangesError(
      `Cannot import ${changes.length} changes of ${bytes} bytes at once: in a cluster, ${BULK_CHANGES_MAX} and ${BULK_BYTES_MAX} bytes are the limit; make it several, or restore a backup into an empty prefix`,
    )
}

/** The name under which a change leaves or removes a record. */
function lastNameOf(change: Change): string {
  return namesOf(change).at(-1) ?? ''
}

/** Each name that is taken is free, and each record that is changed is still the one for which that was decided. */
function conditionsOf(change: Change, keys: ClusterKeys, index: ConfigurationIndex): Compare[] {
  if ('add' in change) return [isAbsent(keys.record(change.add.name))]
  const [name = '', newName] = namesOf(change)
  const isSame = valueIs(keys.record(name), index.find(name)?.json ?? '')
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
  if (operations.length <= BULK_FAN_OUT) return operations
  const groups: EtcdOperation[] = []
  for (let from = 0; from < operations.length; from += BULK_FAN_OUT) {
    const success = operations.slice(from, from + BULK_FAN_OUT)
    groups.push(nested({ compare: [], success, failure: [] }))
  }
  return parts(groups)
}
