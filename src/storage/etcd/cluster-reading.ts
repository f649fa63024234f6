import { CLUSTER_RANGES_AT_ONCE, CLUSTER_SMALL_RECORDS } from '../../limits.ts'
import type { Configuration } from '../../store/configuration.ts'
import { ConfigurationIndex } from '../../store/configuration-index.ts'
import { foreignKey, incomplete, inUse, nothingThere, refusedKey } from './cluster-error.ts'
import type { ClusterKeys, KeyRange } from './cluster-keys.ts'
import { type ClusterMeta, parseMeta } from './cluster-meta.ts'
import { EtcdError } from './etcd-error.ts'
import type { Gateway } from './gateway.ts'
import type { KeyValue } from './messages.ts'
import { parseRecordValue } from './revision-changes.ts'

const READINGS_MAX = 5

/** A value, and the revision of the change that made it. */
export interface Versioned<Value> {
  readonly value: Value
  readonly modRevision: number
}

/** All that a prefix holds at one revision. */
export interface ClusterState {
  readonly meta: Versioned<ClusterMeta>
  /** Of etcd; the index has that of the last change of a record, or of `meta`. */
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

/**
 * Reads everything below the prefix at one revision.
 *
 * @returns Undefined if there is nothing.
 * @throws {EtcdError} {ClusterRefusedError} if a key is missing, cannot be read, or is not connbook's.
 */
export async function readCluster(
  gateway: Gateway,
  keys: ClusterKeys,
  signal?: AbortSignal,
): Promise<ClusterState | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      return await readOnce(gateway, keys, signal)
    } catch (error) {
      // The revision was compacted while it was read.
      if (!(error instanceof EtcdError) || error.reason !== 'compacted' || tries === READINGS_MAX) throw error
    }
  }
}

async function readOnce(
  gateway: Gateway,
  keys: ClusterKeys,
  signal: AbortSignal | undefined,
): Promise<ClusterState | undefined> {
  const options = signal === undefined ? {} : { signal }
  const found = await gateway.range({ key: keys.meta }, options)
  const { revision } = found
  const at = (range: KeyRange) => gateway.range({ ...range, revision }, options)
  const whole = await gateway.range({ ...keys.all, revision, countOnly: true }, options)
  if (whole.count === 0) return undefined
  const [metaKv] = found.kvs
  if (metaKv === undefined) throw await withoutMeta()
  const meta = versioned(metaKv, parseMeta)
  const nodes = await at(keys.nodes)
  const revoked = await at(keys.revoked)
  const sequence = versioned(await theOne(keys.sequence), parseSequence)
  const accounts = await theOne(keys.accounts)
  const signingKeys = await theOne(keys.signingKeys)
  const records = await readRecords()
  const known =
    records.length + nodes.kvs.length + revoked.kvs.length + [meta, sequence, accounts, signingKeys].length
  if (known !== whole.count) throw await foreign()
  const changed = Math.max(meta.modRevision, ...nodes.kvs.map(({ modRevision }) => modRevision))
  return {
    meta,
    revision,
    index: indexOf(records, changed, sequence.value),
    sequence,
    nodes: new Map(nodes.kvs.map((kv) => [keys.nodeOf(kv.key) ?? '', kv])),
    accounts,
    signingKeys,
    revoked: revoked.kvs,
  }

  async function theOne(key: string): Promise<KeyValue> {
    const [kv] = (await gateway.range({ key, revision }, options)).kvs
    if (kv === undefined) throw incomplete(`the key "${key}" is missing`, keys, gateway)
    return kv
  }

  function versioned<Value>(kv: KeyValue, parse: (text: string) => Value): Versioned<Value> {
    try {
      return { value: parse(kv.value), modRevision: kv.modRevision }
    } catch (error) {
      throw refusedKey(kv.key, gateway, error)
    }
  }

  /** In one range if they are few; many in disjoint ranges, as etcd counts all that follow at each page of a range. */
  async function readRecords(): Promise<Configuration[]> {
    const few = await gateway.range({ ...keys.records, revision, limit: CLUSTER_SMALL_RECORDS }, options)
    if (!few.more) return few.kvs.map(parseRecord)
    const records: Configuration[] = []
    const ranges = keys.recordRanges.values()
    await Promise.all(
      Array.from({ length: CLUSTER_RANGES_AT_ONCE }, async () => {
        for (const range of ranges) for (const kv of (await at(range)).kvs) records.push(parseRecord(kv))
      }),
    )
    return records
  }

  function parseRecord(kv: KeyValue): Configuration {
    const name = keys.nameOf(kv.key)
    if (name === undefined) throw foreignKey(kv.key, keys, gateway)
    try {
      return parseRecordValue(name, kv.value)
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

  async function withoutMeta() {
    const [first] = (await gateway.range({ ...keys.all, revision, limit: 1, keysOnly: true }, options)).kvs
    const isOurs = first !== undefined && keys.isKnown(first.key)
    if (first !== undefined && !isOurs) return foreignKey(first.key, keys, gateway)
    return incomplete(`the key "${keys.meta}" is missing, but others are there`, keys, gateway)
  }

  async function foreign() {
    const all = await gateway.range({ ...keys.all, revision, keysOnly: true }, options)
    const found = all.kvs.find(({ key }) => !keys.isKnown(key))
    return foreignKey(found?.key ?? keys.prefix, keys, gateway)
  }
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
 * @throws {ClusterRefusedError} if it is in use, or holds keys that are not connbook's. {EtcdError}
 */
export async function checkUnused(gateway: Gateway, keys: ClusterKeys): Promise<void> {
  const { kvs, revision } = await gateway.range({ key: keys.meta, keysOnly: true })
  if (kvs.length > 0) throw inUse(keys, gateway)
  const all = await gateway.range({ ...keys.all, revision, keysOnly: true })
  const foreign = all.kvs.find(({ key }) => !keys.isKnown(key))
  if (foreign !== undefined) throw foreignKey(foreign.key, keys, gateway)
}

/** @throws {SyntaxError} */
export function parseSequence(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new SyntaxError('it is no id')
  return Number(text)
}
