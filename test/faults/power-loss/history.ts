import assert from 'node:assert/strict'
import type { NewConfiguration } from '../../../src/store/configuration.ts'

export interface StoredRecord extends NewConfiguration {
  readonly id: number
}

export type HistoryChange =
  | { readonly add: StoredRecord }
  | { readonly modify: StoredRecord; readonly name: string }
  | { readonly remove: string }
  /** All of them or none. */
  | { readonly together: readonly HistoryChange[] }

/** What can be read from a store. */
export interface ShownState {
  readonly revision: number
  readonly records: ReadonlyMap<string, StoredRecord>
}

/** What a store holds. */
export interface State extends ShownState {
  /** The highest id ever given to a record that was stored. */
  readonly lastId: number
}

export const emptyState: State = { revision: 0, lastId: 0, records: new Map() }

/** The requests to a store and its answers, which determine what it may show, now and after a power loss. */
export class History {
  #acknowledged: State
  /** Changes neither acknowledged nor refused, in the order in which they were taken. */
  #taken: HistoryChange[] = []
  /** Changes refused because the disk failed, which may still be on it until the store has recovered. */
  #doubtful: HistoryChange[] = []
  #lastIdGiven: number

  constructor(state: State) {
    this.#acknowledged = state
    this.#lastIdGiven = state.lastId
  }

  /** What the store must show. */
  get acknowledged(): State {
    return this.#acknowledged
  }

  /** The record of a name once all taken changes are done. */
  latest(name: string): StoredRecord | undefined {
    return this.allLatest().get(name)
  }

  /** All records, by name, once all taken changes are done. */
  allLatest(): ReadonlyMap<string, StoredRecord> {
    return this.#taken.reduce(applied, this.#acknowledged).records
  }

  takeAdd(fields: NewConfiguration): HistoryChange {
    return this.take(this.nextAdd(fields))
  }

  /** An add that is not taken yet, with others. */
  nextAdd(fields: NewConfiguration): HistoryChange {
    this.#lastIdGiven += 1
    return { add: { id: this.#lastIdGiven, ...fields } }
  }

  take(change: HistoryChange): HistoryChange {
    this.#doubtful = []
    this.#taken.push(change)
    return change
  }

  isTaken(change: HistoryChange): boolean {
    return this.#taken.includes(change)
  }

  acknowledge(change: HistoryChange): void {
    assert.equal(this.#taken.shift(), change, 'a change was acknowledged before one that was taken earlier')
    this.#acknowledged = applied(this.#acknowledged, change)
  }

  /** Refuses a change that was taken; others may have been taken since. After a full disk it must never show. */
  refuse(change: HistoryChange, reason: 'full disk' | 'failed disk'): void {
    if (reason === 'failed disk') this.#doubtful = [...this.#doubtful, change]
    this.#taken = this.#taken.filter((one) => one !== change)
  }

  /** The store has recovered from a failed disk: what it refused must never show from now on. */
  recover(): void {
    this.#doubtful = []
  }

  /** Checks what the store shows while it runs: exactly what was acknowledged. */
  checkShown(shown: ShownState): void {
    assert.deepEqual(described(shown), described(this.#acknowledged))
  }

  /**
   * Checks what is found after a power loss: everything acknowledged, and a prefix, possibly empty, of the changes
   * without an answer.
   *
   * @returns The state that was found.
   */
  checkFound(found: ShownState): State {
    const unanswered = this.#taken.length > 0 ? this.#taken : this.#doubtful
    let expected = this.#acknowledged
    for (const change of unanswered)
      if (expected.revision < found.revision) expected = applied(expected, change)
    assert.deepEqual(described(found), described(expected), 'another state was found')
    return expected
  }
}

function described({ revision, records }: ShownState) {
  return { revision, records: [...records.values()].sort((a, b) => a.id - b.id).map(describedRecord) }
}

/** A record as short text, for comparisons and messages; of a user name that repeats a text, that text up to its `;`. */
export function describedRecord({ id, name, hostname, port, username, labels }: StoredRecord): string {
  const text = username.slice(0, username.indexOf(';') + 1)
  const isRepeated = username === text.padEnd(username.length, text)
  return `${id} ${name} ${hostname}:${port} ${isRepeated ? `${text}(${username.length})` : username} ${JSON.stringify(labels ?? {})}`
}

function applied(state: State, change: HistoryChange): State {
  if ('together' in change) return change.together.reduce(applied, state)
  const { revision, lastId, records } = state
  const changed = new Map(records)
  if ('remove' in change) changed.delete(change.remove)
  else if ('add' in change) changed.set(change.add.name, change.add)
  else {
    changed.delete(change.name)
    changed.set(change.modify.name, change.modify)
  }
  return {
    revision: revision + 1,
    lastId: 'add' in change ? change.add.id : lastId,
    records: changed,
  }
}
