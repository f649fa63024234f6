import type { Configuration } from '../store/configuration.ts'
import { ConfigurationIndex } from '../store/configuration-index.ts'
import { foreignKey, incomplete, inUse, missingKey, nothingThere, refusedKey } from './cluster-error.ts'
import type { ClusterKeys, KeyRange } from './cluster-keys.ts'
import { type ClusterMeta, parseMeta } from './cluster-meta.ts'
import { EtcdError } from './etcd-error.ts'
import type { EtcdCallOptions, Gateway } from './gateway.ts'
import type { KeyValue, RangeQuery } from './messages.ts'
import { parseRecordValue } from './revision-changes.ts'

/** Up to about so many keys are read from etcd, or removed, at once; more in ranges. */
export const CLUSTER_SMALL_RECORDS = 5_000
const CLUSTER_RANGES_AT_ONCE = 4

/** How long a member that has just answered may take when all records are read. */
const ETCD_READING_MS = 10_000

const READINGS_MAX = 5

/** A value, and the revision of the change that made it. */
export interface Versioned<Value> {
  readonly value: Value
  readonly modRevision: number
}

/** All that a prefix holds at one revision. */
export interface ClusterState {
  readonly meta: Versioned<ClusterMeta>
  /** Revision of etcd; the index has that of the last change of a record, or of `meta`. */
  readonly revision: number
  readonly index: ConfigurationIndex
  /** The last id given. */
  readonly sequence: Versioned<number>
  /** The values below `w/`, by the id of the node. */
  readonly nodes: ReadonlyMap<string, Versioned<string>>
  readonly accounts: KeyValue
  readonly signingKeys: KeyValue
  readonly revoked: readonly KeyValue[]
}

export interface ReadingOptions {
  readonly signal?: AbortSignal
  /** Called with each key that is not connbook's; by default, nothing is read then. */
  readonly onForeign?: (key: string) => void
}

/**
 * Reads everything below the prefix at one revision.
 *
 * @returns Undefined if there is nothing.
 * @throws {EtcdError} {ClusterRefusedError} if a key is missing, cannot be read, or is not connbook's.
 */
export async function readCluster(
  gateway: Gateway,
  keys: ClusterKeys,
  options: ReadingOptions = {},
): Promise<ClusterState | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      return await readOnce(gateway, keys, options)
    } catch (error) {
      // The revision was compacted while it was read.
      if (!(error instanceof EtcdError) || error.reason !== 'compacted' || tries === READINGS_MAX) throw error
    }
  }
}

async function readOnce(
  gateway: Gateway,
  keys: ClusterKeys,
  { signal, onForeign }: ReadingOptions,
): Promise<ClusterState | undefined> {
  const options = signal === undefined ? {} : { signal }
  const { revision, kvs } = await gateway.range({ key: keys.meta }, options)
  const [meta] = kvs
  if (meta === undefined) {
    if ((await countKnown(gateway, keys, { revision }, options)) === 0) return undefined
    throw incomplete(keys, gateway)
  }
  const values = new PrefixValues(gateway, keys, onForeign)
  const parsedMeta = values.parse(meta, parseMeta)
  await readSlices(gateway, keys, { revision }, options, (kv) => values.take(kv))
  return values.stateAt(revision, parsedMeta)
}

/** The values of one reading of a prefix, sorted by what they are. */
class PrefixValues {
  readonly #gateway: Gateway
  readonly #keys: ClusterKeys
  readonly #onForeign: ((key: string) => void) | undefined
  readonly #records: Configuration[] = []
  readonly #nodes = new Map<string, KeyValue>()
  readonly #revoked: KeyValue[] = []
  readonly #singles = new Map<string, KeyValue>()

  constructor(gateway: Gateway, keys: ClusterKeys, onForeign: ((key: string) => void) | undefined) {
    this.#gateway = gateway
    this.#keys = keys
    this.#onForeign = onForeign
  }

  /** @throws {ClusterRefusedError} if the record cannot be read, or the key is not connbook's. */
  take(kv: KeyValue): void {
    const { key } = kv
    const node = this.#keys.nodeOf(key)
    if (this.#keys.isSingle(key)) this.#singles.set(key, kv)
    else if (node !== undefined) this.#nodes.set(node, kv)
    else if (this.#keys.jtiOf(key) !== undefined) this.#revoked.push(kv)
    else if (this.#keys.isKnown(key))
      this.#records.push(
        this.parse(kv, (value) => parseRecordValue(this.#keys.nameOf(key) ?? '', value)).value,
      )
    else if (this.#onForeign === undefined) throw foreignKey(key, this.#keys, this.#gateway)
    else this.#onForeign(key)
  }

  /** @throws {ClusterRefusedError} if `read` fails. */
  parse<Value>(kv: KeyValue, read: (text: string) => Value): Versioned<Value> {
    try {
      return { value: read(kv.value), modRevision: kv.modRevision }
    } catch (error) {
      throw this.#refused(kv.key, error)
    }
  }

  /** @throws {ClusterRefusedError} if a key is missing, or ids contradict each other. */
  stateAt(revision: number, meta: Versioned<ClusterMeta>): ClusterState {
    const sequence = this.parse(this.#single(this.#keys.sequence), parseSequence)
    const changes = [...this.#nodes.values()].map(({ modRevision }) => modRevision)
    return {
      meta,
      revision,
      index: this.#index(Math.max(meta.modRevision, ...changes), sequence.value),
      sequence,
      nodes: this.#nodes,
      accounts: this.#single(this.#keys.accounts),
      signingKeys: this.#single(this.#keys.signingKeys),
      revoked: this.#revoked,
    }
  }

  #single(key: string): KeyValue {
    const kv = this.#singles.get(key)
    if (kv === undefined) throw missingKey(key, this.#gateway)
    return kv
  }

  #index(changed: number, lastId: number): ConfigurationIndex {
    const records = this.#records.sort((a, b) => a.id - b.id)
    const same = records.find(({ id }, i) => records[i - 1]?.id === id)
    if (same !== undefined)
      throw this.#refused(
        this.#keys.record(same.name),
        new SyntaxError(`another record has the id ${same.id}`),
      )
    const highest = records.at(-1)
    if (highest !== undefined && highest.id > lastId)
      throw this.#refused(
        this.#keys.sequence,
        new SyntaxError(`it is below the id ${highest.id} of a record`),
      )
    const index = new ConfigurationIndex()
    const jsonBytes = records.reduce((sum, record) => sum + record.jsonBytes, 0)
    index.load(records, jsonBytes, changed, lastId)
    return index
  }

  #refused(key: string, error: unknown): Error {
    return refusedKey(key, this.#gateway, error)
  }
}

/**
 * Reads all keys below the prefix; many of them in slices, as etcd counts the whole rest of a range that has a limit.
 *
 * @param options For a call that waits longer than others for its answer.
 */
async function readSlices(
  gateway: Gateway,
  keys: ClusterKeys,
  query: Pick<RangeQuery, 'revision' | 'keysOnly'>,
  options: EtcdCallOptions,
  take: (kv: KeyValue) => void,
): Promise<void> {
  const stop = new AbortController()
  const signal = options.signal === undefined ? stop.signal : AbortSignal.any([options.signal, stop.signal])
  const read = async (range: KeyRange) => {
    const { kvs } = await gateway.range(
      { ...range, ...query },
      { attemptMs: ETCD_READING_MS, ...options, signal },
    )
    kvs.forEach(take)
    return kvs.length
  }
  const { slices, all } = keys
  const [first = all, ...others] = slices
  const isLarge = (await read(first)) * slices.length > CLUSTER_SMALL_RECORDS
  const rest = (isLarge ? others : [{ key: first.end, end: all.end }]).values()
  const readRest = async () => {
    for (const range of rest) await read(range)
  }
  try {
    await Promise.all(Array.from({ length: CLUSTER_RANGES_AT_ONCE }, readRest))
  } catch (error) {
    // Otherwise the answers to the others take memory beside those to the next reading.
    stop.abort()
    throw error
  }
}

/** How many keys there are. @throws {ClusterRefusedError} if one is not connbook's. */
async function countKnown(
  gateway: Gateway,
  keys: ClusterKeys,
  query: Pick<RangeQuery, 'revision'>,
  options: EtcdCallOptions = {},
): Promise<number> {
  let count = 0
  await readSlices(gateway, keys, { ...query, keysOnly: true }, options, ({ key }) => {
    if (!keys.isKnown(key)) throw foreignKey(key, keys, gateway)
    count += 1
  })
  return count
}

/**
 * Checks that there is a store below the prefix, which this connbook can use.
 *
 * @throws {EtcdError} {ClusterRefusedError} if not.
 */
export async function checkCluster(gateway: Gateway, keys: ClusterKeys): Promise<void> {
  const [kv] = (await gateway.range({ key: keys.meta })).kvs
  if (kv === undefined) throw nothingThere(keys, gateway)
  try {
    parseMeta(kv.value)
  } catch (error) {
    throw refusedKey(kv.key, gateway, error)
  }
}

/**
 * Checks that a prefix holds nothing, or only what a restore that was broken off has left.
 *
 * @returns How many keys that are.
 * @throws {ClusterRefusedError} if it is in use, or holds keys that are not connbook's. {EtcdError}
 */
export async function countLeftovers(gateway: Gateway, keys: ClusterKeys): Promise<number> {
  const { kvs } = await gateway.range({ key: keys.meta, keysOnly: true })
  if (kvs.length > 0) throw inUse(keys, gateway)
  return countKnown(gateway, keys, {})
}

/** @throws {SyntaxError} */
export function parseSequence(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new SyntaxError('it is no id')
  return Number(text)
}
