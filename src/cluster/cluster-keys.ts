import { hash } from 'node:crypto'
import { endOfPrefix } from './messages.ts'

/** Keys from `key` up to but without `end`. */
export interface KeyRange {
  readonly key: string
  readonly end: string
}

/** How many ranges of records there are; each holds those whose names have one first byte of their hash. */
const RECORD_RANGES = 256

/** The names of all keys below a prefix. */
export class ClusterKeys {
  readonly prefix: string
  readonly all: KeyRange
  /** Format, id of the store, epoch. */
  readonly meta: string
  /** The last id given. */
  readonly sequence: string
  readonly accounts: string
  readonly signingKeys: string
  readonly records: KeyRange
  readonly nodes: KeyRange
  /** Accounts, signing keys and revoked tokens. */
  readonly credentials: KeyRange
  readonly revoked: KeyRange

  /** @param prefix Ends in a slash. */
  constructor(prefix: string) {
    this.prefix = prefix
    this.all = rangeOf(prefix)
    this.meta = `${prefix}meta`
    this.sequence = `${prefix}seq`
    this.accounts = `${prefix}auth/accounts`
    this.signingKeys = `${prefix}auth/keys`
    this.records = rangeOf(`${prefix}r/`)
    this.nodes = rangeOf(`${prefix}w/`)
    this.credentials = rangeOf(`${prefix}auth/`)
    this.revoked = rangeOf(`${prefix}auth/revoked/`)
  }

  /** The hash makes the ranges of `recordRanges` about equally long, whatever the names are. */
  record(name: string): string {
    return `${this.records.key}${hash('sha256', name, 'hex').slice(0, 2)}/${name}`
  }

  /** The name of the record under a key; undefined for another key. */
  nameOf(key: string): string | undefined {
    const { key: start } = this.records
    if (!key.startsWith(start)) return undefined
    const name = key.slice(start.length + 3)
    return key === this.record(name) ? name : undefined
  }

  /** Disjoint ranges that together hold all records. */
  get recordRanges(): readonly KeyRange[] {
    return Array.from({ length: RECORD_RANGES }, (_, byte) =>
      rangeOf(`${this.records.key}${byte.toString(16).padStart(2, '0')}/`),
    )
  }

  /** Disjoint ranges that together hold all keys below the prefix, each with about as many. */
  get slices(): readonly KeyRange[] {
    const starts = [this.all.key, ...this.recordRanges.slice(1).map(({ key }) => key)]
    return starts.map((key, i) => ({ key, end: starts[i + 1] ?? this.all.end }))
  }

  /** @param node Its id. */
  node(node: string): string {
    return this.nodes.key + node
  }

  nodeOf(key: string): string | undefined {
    return key.startsWith(this.nodes.key) ? key.slice(this.nodes.key.length) : undefined
  }

  /** Whether connbook may have written a key. */
  isKnown(key: string): boolean {
    return this.isSingle(key) || (this.nodeOf(key) ?? this.jtiOf(key) ?? this.nameOf(key)) !== undefined
  }

  /** Whether it is a key of which each store has one. */
  isSingle(key: string): boolean {
    return [this.meta, this.sequence, this.accounts, this.signingKeys].includes(key)
  }

  revokedToken(jti: string): string {
    return this.revoked.key + jti
  }

  jtiOf(key: string): string | undefined {
    return key.startsWith(this.revoked.key) ? key.slice(this.revoked.key.length) : undefined
  }
}

function rangeOf(prefix: string): KeyRange {
  return { key: prefix, end: endOfPrefix(prefix) }
}
