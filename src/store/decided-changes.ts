import { OvertakenError } from '../errors.ts'
import type { LongWork } from '../scheduler.ts'
import { type Access, accessOf } from './access.ts'
import type { Actor, Asker } from './authorship.ts'
import { type Change, namesOf } from './change.ts'
import type { ChangeLog } from './change-log.ts'
import type { Configuration } from './configuration.ts'
import type { ConfigurationIndex } from './configuration-index.ts'
import type { Decide, Decision } from './decisions.ts'
import type { RecordRoom } from './record-room.ts'

/** A change that waits for its turn. */
export interface WaitingChange {
  readonly actor: Actor
  readonly asker: Asker | undefined
  readonly decide: Decide<unknown>
  /** When it came, by the monotonic clock. */
  readonly sinceMs: number
  /** Whether others were faster with it once. */
  wasOvertaken: boolean
  readonly resolve: (outcome: unknown) => void
  readonly reject: (error: unknown) => void
}

/** What was decided about a change. */
interface Decided {
  readonly waiting: WaitingChange
  /** For which it was decided. */
  readonly access: Access | undefined
  readonly decision: Decision<unknown> | { readonly refusal: unknown }
}

/** Changes that are decided together, each for the records and for those before it. */
export class DecidedChanges {
  readonly #index: ConfigurationIndex
  readonly #time: string
  /** Those that have been decided. */
  readonly waiting: WaitingChange[] = []
  readonly #decided: Decided[] = []
  readonly changes: Change[] = []
  /** Who has the names that these changes take or free. */
  readonly names = new Map<string, Configuration | undefined>()
  lastId: number
  /** When the first of them came, by the monotonic clock. */
  sinceMs = Number.POSITIVE_INFINITY
  /** Whether the present decision depends on a change of this batch. */
  #hasLookedBack = false

  /** @param time When they are decided. */
  constructor(index: ConfigurationIndex, lastId: number, time: string) {
    this.#index = index
    this.lastId = lastId
    this.#time = time
  }

  /** Whether each of them changes something. */
  get isAllChanges(): boolean {
    return this.changes.length === this.#decided.length
  }

  /** @returns Whether it is part of the batch; false if it has to wait for the next one. */
  decide(waiting: WaitingChange, room: RecordRoom, { namesMax, allowsSequences }: ChangeLog): boolean {
    const { asker, actor } = waiting
    let access: Access | undefined
    let decision: Decided['decision']
    this.#hasLookedBack = false
    try {
      asker?.checkAgain?.()
      access = accessOf(asker)
      decision = waiting.decide({ find: this.#find, access, nextId: this.lastId + 1 })
      if ('change' in decision) room.checkChange(this.#index, decision.change, this.#find)
    } catch (refusal) {
      decision = { refusal }
    }
    // The log may give ids other than those that this decision has seen.
    if (this.#hasLookedBack && !allowsSequences) return false
    if ('change' in decision) {
      const names = namesOf(decision.change)
      if (this.names.size + names.length > namesMax) return false
      this.#add({ ...decision.change, authorship: { actor, time: this.#time } }, names)
    }
    this.#decided.push({ waiting, access, decision })
    this.waiting.push(waiting)
    this.sinceMs = Math.min(this.sinceMs, waiting.sinceMs)
    return true
  }

  /** @throws {OvertakenError} if one of them would be decided otherwise by now. */
  check(): void {
    for (const { waiting, access, decision } of this.#decided)
      if ('change' in decision && !isStillGranted(waiting.asker, access)) throw new OvertakenError()
  }

  /** Answers one after the other. @param made The changes as they were committed. */
  *answers(made: readonly Change[]): LongWork<void> {
    let next = 0
    for (const { waiting, decision } of this.#decided) {
      if ('refusal' in decision) waiting.reject(decision.refusal)
      else if ('outcome' in decision) waiting.resolve(decision.outcome)
      else waiting.resolve(decision.outcomeOf(at(made, next++)))
      yield
    }
  }

  readonly #find = (name: string): Configuration | undefined => {
    if (!this.names.has(name)) return this.#index.find(name)
    this.#hasLookedBack = true
    return this.names.get(name)
  }

  #add(change: Change, names: readonly string[]) {
    if ('add' in change) this.lastId = change.add.id
    const after = 'remove' in change ? undefined : 'add' in change ? change.add : change.modify
    for (const name of names) this.names.set(name, after?.name === name ? after : undefined)
    this.changes.push(change)
  }
}

function isStillGranted(asker: Asker | undefined, access: Access | undefined): boolean {
  try {
    asker?.checkAgain?.()
  } catch {
    return false
  }
  return accessOf(asker)?.key === access?.key
}

function at(changes: readonly Change[], position: number): Change {
  const change = changes[position]
  if (change === undefined) throw new Error('the log has committed fewer changes than it was given')
  return change
}
