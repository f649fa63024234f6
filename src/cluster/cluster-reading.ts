import { CLUSTER_RANGES_AT_ONCE, CLUSTER_SMALL_RECORDS } from '../limits.ts'
import type { Configuration } from '../store/configuration.ts'
import { ConfigurationIndex } from '../store/configuration-index.ts'
import { foreignKey, incomplete, inUse, missingKey, nothingThere, refusedKey } from './cluster-error.ts'
import type { ClusterKeys, KeyRange } from './cluster-keys.ts'
import { type ClusterMeta, parseMeta } from './cluster-meta.ts'
import { EtcdError } from './etcd-error.ts'
import type { CallOptions, Gateway } from './gateway.ts'
import type { KeyValue, RangeQuery } from './messages.ts'
import { parseRecordValue } from './revision-changes.ts'

/** The same when all records are read, from a member that has just answered. */
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
  const found = await gateway.range({ key: keys.meta }, options)
  const { revision } = found
  const [metaKv] = found.kvs
  if (metaKv === undefined) {
    if ((await countKnown(gateway, keys, { revision }, options)) === 0) return undefined
    throw incomplete(keys, gateway)
  }
  const meta = versioned(metaKv, parseMeta)
  const records: Configuration[] = []
  const nodes = new Map<string, KeyValue>()
  const revoked: KeyValue[] = []
  const singles = new Map<string, KeyValue>()
  await readSlices(gateway, keys, { revision }, options, take)
  const sequence = versioned(theOne(keys.sequence), parseSequence)
  const changes = [...nodes.values()].map(({ modRevision }) => modRevision)
  return {
    meta,
    revision,
    index: indexOf(records, Math.max(meta.modRevision, ...changes), sequence.value),
    sequence,
    nodes,
    accounts: theOne(keys.accounts),
    signingKeys: theOne(keys.signingKeys),
    revoked,
  }

  function take(kv: KeyValue) {
    const { key } = kv
    const node = keys.nodeOf(key)
    if (keys.isSingle(key)) singles.set(key, kv)
    else if (node !== undefined) nodes.set(node, kv)
    else if (keys.jtiOf(key) !== undefined) revoked.push(kv)
    else if (keys.isKnown(key)) records.push(parseRecord(kv))
    else if (onForeign === undefined) throw foreignKey(key, keys, gateway)
    else onForeign(key)
  }

  function theOne(key: string): KeyValue {
    const kv = singles.get(key)
    if (kv === undefined) throw missingKey(key, gateway)
    return kv
  }

  function versioned<Value>(kv: KeyValue, parse: (text: string) => Value): Versioned<Value> {
    try {
      return { value: parse(kv.value), modRevision: kv.modRevision }
    } catch (error) {
      throw refusedKey(kv.key, gateway, error)
    }
  }

  function parseRecord(kv: KeyValue): Configuration {
    try {
      return parseRecordValue(keys.nameOf(kv.key) ?? '', kv.value)
    } catch (error) {
      throw refusedKey(kv.key, gateway, error)
    }
  }

  function indexOf(records: Configuration[], changed: number, lastId: number): ConfigurationIndex {
    records.sort((a, b) => a.id - b.id)
    const same = records.find(({ id }, i) => records[i - 1]?.id === id)
    if (same !== undefined)
      throw refusedKey(
        keys.record(same.name),
        gateway,
        new SyntaxError(`another record has the id ${same.id}`),
      )
    const highest = records.at(-1)
    if (highest !== undefined && highest.id > lastId)
      throw refusedKey(
        keys.sequence,
        gateway,
        new SyntaxError(`it is below the id ${highest.id} of a record`),
      )
    const index = new ConfigurationIndex()
    const jsonBytes = records.reduce((sum, record) => sum + record.jsonBytes, 0)
    index.load(records, jsonBytes, changed, lastId)
    return index
  }
}

/**
 * Reads all keys below the prefix; many of them in slices, as etcd counts the whole rest of a range that has a limit.
 *
 * @param options Of a call, which waits longer than others for its answer.
 */
async function readSlices(
  gateway: Gateway,
  keys: ClusterKeys,
  query: Pick<RangeQuery, 'revision' | 'keysOnly'>,
  options: CallOptions,
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
  options: CallOptions = {},
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
