/** A condition of a transaction, as JSON. */
export type Compare = string & { readonly is?: 'compare' }
/** What a transaction does, as JSON. */
export type Operation = string & { readonly is?: 'operation' }

export interface RangeQuery {
  readonly key: string
  /** For all keys from `key` up to but without it. */
  readonly end?: string
  readonly limit?: number
  /** The state at this revision; by default the newest. */
  readonly revision?: number
  /** Answered by one member alone, perhaps from an older state. */
  readonly serializable?: boolean
  readonly keysOnly?: boolean
  readonly countOnly?: boolean
  /** Only the key that was changed last. */
  readonly newestOnly?: boolean
}

export interface Transaction {
  /** All must hold for `success` to be done, and otherwise `failure`. */
  readonly compare: readonly Compare[]
  readonly success: readonly Operation[]
  readonly failure: readonly Operation[]
}

export interface KeyValue {
  readonly key: string
  readonly value: string
  readonly createRevision: number
  readonly modRevision: number
  /** Number of changes since it was created. */
  readonly version: number
  readonly lease: string | undefined
}

export interface RangeAnswer {
  /** Revision of the newest state that the member had; within a transaction, of that after the operations before it. */
  readonly revision: number
  readonly kvs: readonly KeyValue[]
  readonly more: boolean
  readonly count: number
}

export interface TransactionAnswer {
  /** Revision of the state after it; 0 for one within another. */
  readonly revision: number
  readonly succeeded: boolean
  /** One for each operation. */
  readonly answers: readonly OperationAnswer[]
}

export type OperationAnswer =
  | { readonly kind: 'put' }
  | { readonly kind: 'delete'; readonly deleted: number }
  | { readonly kind: 'range'; readonly range: RangeAnswer }
  | { readonly kind: 'transaction'; readonly transaction: TransactionAnswer }

export type WatchMessage =
  /** The watch has begun. */
  | { readonly kind: 'created'; readonly revision: number }
  /** All events of one or more revisions. */
  | { readonly kind: 'events'; readonly revision: number; readonly events: readonly WatchEvent[] }
  /** The revisions asked for are gone. */
  | { readonly kind: 'compacted'; readonly compactRevision: number }

export type WatchEvent =
  | { readonly kind: 'put'; readonly kv: KeyValue; readonly previous: KeyValue | undefined }
  | {
      readonly kind: 'delete'
      readonly key: string
      readonly modRevision: number
      readonly previous: KeyValue | undefined
    }

/** What etcd says instead of an answer. */
export interface Refusal {
  readonly message: string
  /** Status code of gRPC; 0 without one. */
  readonly code: number
}
