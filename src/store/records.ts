import { type LongWork, runAtOnce, type Scheduler } from '../scheduler.ts'
import type { Change } from './change.ts'
import type { Configuration } from './configuration.ts'
import type { ConfigurationIndex, Sort } from './configuration-index.ts'
import { RecentChanges } from './recent-changes.ts'
import { CHANGES, inSteps, ORDERS } from './slices.ts'

/** Called after each durable change, with the record as it was before it; must not throw. */
export type DurableListener = (change: Change, revision: number, before: Configuration | undefined) => void

/**
 * The durable records, the last changes of them, and who listens to those. Only a change log changes them, with what it has
 * made durable.
 */
export class Records {
  #index: ConfigurationIndex
  readonly #scheduler: Scheduler
  /** Orders that are being made. */
  readonly #ordering = new Map<Sort, Promise<void>>()
  #durable: readonly DurableListener[] = []
  #replaced: readonly (() => void)[] = []
  /** The last durable changes. A large import shows in the records first, and then here. */
  readonly recent: RecentChanges

  /**
   * @param index All records that are durable already.
   * @param recent The last of the changes that made them.
   */
  constructor(index: ConfigurationIndex, scheduler: Scheduler, recent = new RecentChanges(index.revision)) {
    this.#index = index
    this.#scheduler = scheduler
    this.recent = recent
  }

  /** Another one after `replace`. */
  get index(): ConfigurationIndex {
    return this.#index
  }

  /** Applies durable changes one after the other. Called in the order of revisions. */
  async apply(changes: readonly Change[], firstRevision: number): Promise<void> {
    await this.#scheduler.runNow(CHANGES, this.#apply(changes, firstRevision))
  }

  /** As `apply`, but until the records show all of the changes, they show none. */
  async applyTogether(changes: readonly Change[], firstRevision: number): Promise<void> {
    await this.#scheduler.runNow(CHANGES, this.#applyTogether(changes, firstRevision))
  }

  /** Applies durable changes that share a revision; none if the revision stands for no change of a record. */
  applyAt(revision: number, changes: readonly Change[]): void {
    const before = changes.map((change) => this.#index.apply(change, revision))
    this.#index.reach(revision)
    this.recent.addTogether(changes, revision, before)
    for (const [i, change] of changes.entries())
      for (const listener of this.#durable) listener(change, revision, before[i])
  }

  /** Puts other records in the place of all, which do not follow from them by changes. */
  replace(index: ConfigurationIndex): void {
    this.#index = index
    this.recent.restart(index.revision)
    for (const listener of this.#replaced) listener()
  }

  /**
   * Resolves once the records are ordered by `sort`. Calls for the same `sort` share the work, which goes on if a caller has
   * gone.
   */
  order(sort: Sort): Promise<void> {
    const ordering = this.#ordering.get(sort) ?? this.#order(sort).finally(() => this.#ordering.delete(sort))
    this.#ordering.set(sort, ordering)
    return ordering
  }

  /**
   * Calls the listener after each durable change, in the order of revisions: the index shows the change already, but the
   * promise of its caller resolves later.
   *
   * @returns Stops the calls.
   */
  onDurable(listener: DurableListener): () => void {
    this.#durable = [...this.#durable, listener]
    return () => {
      this.#durable = this.#durable.filter((other) => other !== listener)
    }
  }

  /** Calls the listener after `replace`. */
  onReplaced(listener: () => void): void {
    this.#replaced = [...this.#replaced, listener]
  }

  /** The index may be replaced meanwhile. */
  async #order(sort: Sort) {
    do await this.#scheduler.run(ORDERS, this.#index.order(sort))
    while (!this.#index.isOrdered(sort))
  }

  *#apply(changes: readonly Change[], firstRevision: number): LongWork<void> {
    yield* inSteps(changes, (change, i) => {
      const before = this.#index.apply(change, firstRevision + i)
      this.#notify(change, firstRevision + i, before)
    })
  }

  *#applyTogether(changes: readonly Change[], firstRevision: number): LongWork<void> {
    if (this.#index.areFew(changes.length)) return runAtOnce(this.#apply(changes, firstRevision))
    const before = yield* this.#index.applyTogether(changes, firstRevision)
    yield* inSteps(changes, (change, i) => this.#notify(change, firstRevision + i, before[i]))
  }

  #notify(change: Change, revision: number, before: Configuration | undefined) {
    this.recent.add(change, revision, before)
    for (const listener of this.#durable) listener(change, revision, before)
  }
}
