import type { MarkedRecord, Step } from './history.ts'

/** What became of one name at one revision. */
interface Turn {
  readonly revision: number
  readonly isThere: boolean
}

/** A change as etcd has it. */
export type Effect =
  | { readonly kind: 'add'; readonly revision: number; readonly record: MarkedRecord }
  | { readonly kind: 'modify'; readonly revision: number; readonly record: MarkedRecord }
  | {
      readonly kind: 'rename'
      readonly revision: number
      readonly record: MarkedRecord
      readonly from: string
    }
  | { readonly kind: 'remove'; readonly revision: number; readonly name: string }

/** The records at each revision, worked out from what etcd has changed. */
export class Replay {
  readonly effects: Effect[] = []
  /** Steps that no store of records can have. */
  readonly faults: string[] = []
  readonly #state = new Map<string, MarkedRecord>()
  readonly #turns = new Map<string, Turn[]>()
  readonly #batches = new Map<string, number>()
  #highestId = 0

  /** @param after Called with the records after each step, which change later. */
  constructor(
    steps: readonly Step[],
    after: (revision: number, records: ReadonlyMap<string, MarkedRecord>) => void = () => {},
  ) {
    for (const step of steps) {
      this.#take(step)
      after(step.revision, this.#state)
    }
  }

  /** After the last step. */
  get records(): ReadonlyMap<string, MarkedRecord> {
    return this.#state
  }

  /** Whether a name was taken, or free, at some revision from `low` to `high`, both included. */
  wasEver(name: string, isThere: boolean, low: number, high: number): boolean {
    const turns = this.#turns.get(name) ?? []
    const before = turns.findLast(({ revision }) => revision <= low)
    if ((before?.isThere ?? false) === isThere) return true
    return turns.some((turn) => turn.revision > low && turn.revision <= high && turn.isThere === isThere)
  }

  #take({ revision, puts, removed, batches }: Step) {
    const gone = new Map<number, MarkedRecord>()
    for (const name of removed) {
      const record = this.#state.get(name)
      if (record === undefined) this.faults.push(`revision ${revision} removes "${name}", which is not there`)
      else gone.set(record.id, record)
    }
    for (const { name } of gone.values()) this.#turn(revision, name, undefined)
    const highestBefore = this.#highestId
    for (const record of puts) {
      const [before, old] = [this.#state.get(record.name), gone.get(record.id)]
      if (before === undefined && old !== undefined) {
        gone.delete(record.id)
        this.effects.push({ kind: 'rename', revision, record, from: old.name })
      } else if (before !== undefined) {
        if (before.id !== record.id)
          this.faults.push(`"${record.name}" changes its id from ${before.id} to ${record.id} at ${revision}`)
        this.effects.push({ kind: 'modify', revision, record })
      } else {
        if (record.id <= highestBefore || this.#isGiven(record.id))
          this.faults.push(`id ${record.id} of "${record.name}" does not rise at revision ${revision}`)
        this.#highestId = Math.max(this.#highestId, record.id)
        this.effects.push({ kind: 'add', revision, record })
      }
      this.#turn(revision, record.name, record)
    }
    for (const { name } of gone.values()) this.effects.push({ kind: 'remove', revision, name })
    this.#takeBatches(revision, batches, puts.length + removed.length > 0)
  }

  #isGiven(id: number): boolean {
    return [...this.#state.values()].some((record) => record.id === id)
  }

  #turn(revision: number, name: string, record: MarkedRecord | undefined) {
    if (record === undefined) this.#state.delete(name)
    else this.#state.set(name, record)
    const turns = this.#turns.get(name) ?? []
    turns.push({ revision, isThere: record !== undefined })
    this.#turns.set(name, turns)
  }

  /** Each change belongs to one batch, and the numbers of a node's batches rise; those it gave up leave gaps. */
  #takeBatches(revision: number, batches: Step['batches'], hasChanges: boolean) {
    if (hasChanges && batches.length !== 1)
      this.faults.push(`revision ${revision} changes records with ${batches.length} batches`)
    for (const { node, number } of batches) {
      const before = this.#batches.get(node) ?? 0
      if (number <= before)
        this.faults.push(
          `batch ${number} of node ${node} follows its batch ${before} at revision ${revision}`,
        )
      this.#batches.set(node, number)
    }
  }
}
