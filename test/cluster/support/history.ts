/** A record as far as histories speak of it. */
export interface MarkedRecord {
  readonly id: number
  readonly name: string
  /** Names the operation that wrote it; no two operations have the same. */
  readonly mark: string
}

/** What a client asks for; but for a removal, the record gets the mark. */
export type Intent =
  | { readonly kind: 'add'; readonly name: string; readonly mark: string }
  | { readonly kind: 'modify'; readonly name: string; readonly mark: string }
  | { readonly kind: 'rename'; readonly name: string; readonly newName: string; readonly mark: string }
  | { readonly kind: 'remove'; readonly name: string }

export type Outcome =
  | { readonly kind: 'ok'; readonly id?: number | undefined }
  /** Certainly not done. @see status 0: the connection was refused. */
  | { readonly kind: 'refused'; readonly status: number }
  /** Done, or not, or still to be done. */
  | { readonly kind: 'unknown'; readonly reason: string }

/** One change as its client saw it. */
export interface Operation {
  readonly client: string
  readonly node: string
  readonly intent: Intent
  /** Milliseconds of one clock, for all clients. */
  readonly invokedAt: number
  readonly respondedAt: number
  readonly outcome: Outcome
}

/** One list as its reader saw it. */
export interface Read {
  readonly node: string
  /** Whether it asked for nothing older than what was acknowledged anywhere. */
  readonly isFresh: boolean
  readonly invokedAt: number
  readonly respondedAt: number
  /** The one that the answer names. */
  readonly revision: number
  readonly records: readonly MarkedRecord[]
}

/** What one revision of etcd has changed. */
export interface Step {
  readonly revision: number
  readonly puts: readonly MarkedRecord[]
  readonly removed: readonly string[]
  /** Batches that nodes have written down. */
  readonly batches: readonly { readonly node: string; readonly number: number }[]
}

/** All that is known of a run. */
export interface History {
  readonly operations: readonly Operation[]
  readonly reads: readonly Read[]
  /** By revision. */
  readonly steps: readonly Step[]
  /** Records at the end, once all is quiet: those in etcd, and those that each node shows. */
  readonly ends: readonly { readonly where: string; readonly records: readonly MarkedRecord[] }[]
}
