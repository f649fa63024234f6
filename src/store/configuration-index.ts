import { type LongWork, runAtOnce } from '../scheduler.ts'
import type { Change } from './change.ts'
import type { Configuration } from './configuration.ts'
import type { FieldName } from './fields.ts'
import { countLabels } from './labels.ts'
import { RecordOrder } from './record-order.ts'
import { inSteps, sortInSlices } from './slices.ts'
import { type Frozen, SortedIndex } from './sorted-index.ts'

/** Up to this many records, the first use of an order sorts them at once; more are sorted in slices. */
export const SORTED_AT_ONCE_RECORDS_MAX = 1_000

/** Updates of its structures that are made at once: some 3 ms. */
export const UPDATES_AT_ONCE_MAX = 1_000

/** How a list is ordered: by a field, rising, or falling with `-`. */
export type Sort = FieldName | `-${FieldName}`

/** All durable records in memory: by name, by id, and in every order in use. */
export class ConfigurationIndex {
  #byName = new Map<string, Configuration>()
  #byId = new SortedIndex<Configuration>(compareIds)
  readonly #orders = new Map<Sort, RecordOrder>()
  #jsonBytes = 0
  #labels = 0
  #revision = 0
  #lastId = 0
  readonly #nowMs: () => number

  /** @param nowMs A monotonic clock. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  get count(): number {
    return this.#byName.size
  }

  /** Bytes of all records as JSON, without separators. */
  get jsonBytes(): number {
    return this.#jsonBytes
  }

  /** How many labels all records have together. */
  get labels(): number {
    return this.#labels
  }

  /** Whether any record has labels. */
  get hasLabels(): boolean {
    return this.#labels > 0
  }

  /** Revision of the last change applied. */
  get revision(): number {
    return this.#revision
  }

  /** The highest id ever given to a record that was stored. */
  get lastId(): number {
    return this.#lastId
  }

  find(name: string): Configuration | undefined {
    return this.#byName.get(name)
  }

  /** Whether `slice` and `freeze` can take this `sort` at once; `order` makes it so. */
  isOrdered(sort: Sort): boolean {
    return this.count <= SORTED_AT_ONCE_RECORDS_MAX || this.#orders.get(sort)?.isReady === true
  }

  /** Makes an order in slices. It is dropped when no reader uses it for long. */
  *order(sort: Sort): LongWork<void> {
    const order = new RecordOrder(compareBy(sort))
    this.#orders.set(sort, order)
    yield* order.make(this.#byId.freeze())
  }

  /**
   * Up to `limit` records from `offset` on, in logarithmic time; without `sort` by rising id.
   *
   * @throws {Error} if they are not ordered so; see `isOrdered`.
   */
  slice(offset: number, limit: number, sort?: Sort): Configuration[] {
    return this.#orderedBy(sort).slice(offset, limit)
  }

  /** Finds neighbours in an order, in logarithmic time, as `SortedIndex.stretch` does. @throws as `slice` does. */
  stretch(sort: Sort, place: (record: Configuration) => number) {
    return this.#orderedBy(sort).stretch(place)
  }

  /**
   * Records in order as they are now, whatever changes later: all, or up to `limit` from `offset` on; without `sort` by
   * rising id.
   *
   * @throws as `slice` does.
   */
  freeze(sort?: Sort, offset?: number, limit?: number): Frozen<Configuration> {
    return this.#orderedBy(sort).freeze(offset, limit)
  }

  /** Replaces everything by the records of a snapshot. */
  load(records: readonly Configuration[], jsonBytes: number, revision: number, lastId: number): void {
    this.#byName.clear()
    this.#orders.clear()
    for (const record of records) this.#byName.set(record.name, record)
    if (this.#byName.size !== records.length) throw new Error('two records have the same name')
    this.#byId = new SortedIndex(compareIds, records)
    this.#jsonBytes = jsonBytes
    this.#labels = records.reduce((sum, record) => sum + countLabels(record.labels), 0)
    this.#revision = revision
    this.#lastId = lastId
  }

  /**
   * @returns The record as it was before; undefined for one that is added.
   * @throws {Error} if the change does not fit the records; an intact journal never has such a change.
   */
  apply(change: Change, revision: number): Configuration | undefined {
    if (this.#orders.size > 0) this.#dropUnused()
    const before = this.#alter(change)
    this.#revision = revision
    return before
  }

  /** The records have a later revision without a change. */
  reach(revision: number): void {
    this.#revision = Math.max(this.#revision, revision)
  }

  /** How many structures each change updates. */
  get parts(): number {
    return 1 + this.#orders.size
  }

  /** Whether so many changes are applied in a moment, one after the other. */
  areFew(changes: number): boolean {
    return changes * this.parts <= UPDATES_AT_ONCE_MAX
  }

  /**
   * Applies many changes in slices. Until the end it shows the state before, then all of them at once. No other change
   * may be applied meanwhile.
   *
   * @param changes No two of the same record.
   * @param firstRevision The revision of the first; the others follow it.
   * @returns What `apply` returns, for each.
   * @throws {Error} as `apply` does; then nothing has changed.
   */
  *applyTogether(
    changes: readonly Change[],
    firstRevision: number,
  ): LongWork<readonly (Configuration | undefined)[]> {
    this.#dropUnused()
    const { before, difference, jsonBytes, labels, lastId } = yield* this.#compareWith(changes)
    const added = yield* sortInSlices(difference.added, compareIds)
    const byId = yield* this.#byId.changedBy({ ...difference, added })
    const byName = yield* namesOf(byId.freeze())
    if (byName.size !== byId.size) throw new Error('two records have the same name')
    const changed = new Map<RecordOrder, SortedIndex<Configuration> | undefined>()
    // Another order may become ready meanwhile.
    const nextOrder = () =>
      [...this.#orders.values()].find((order) => order.isReady && changed.get(order) === undefined)
    for (let order = nextOrder(); order !== undefined; order = nextOrder()) {
      changed.set(order, yield* order.changedBy(difference))
    }
    if (this.#revision !== firstRevision - 1) throw new Error('the records were changed meanwhile')
    this.#byName = byName
    this.#byId = byId
    for (const order of this.#orders.values()) order.replaceBy(changed.get(order), difference)
    this.#jsonBytes = jsonBytes
    this.#labels = labels
    this.#lastId = lastId
    this.#revision += changes.length
    return before
  }

  /** What many changes do to the records. */
  *#compareWith(changes: readonly Change[]) {
    const before: (Configuration | undefined)[] = []
    const gone = new Set<Configuration>()
    const added: Configuration[] = []
    let [jsonBytes, labels, lastId] = [this.#jsonBytes, this.#labels, this.#lastId]
    yield* inSteps(changes, (change) => {
      const old = 'add' in change ? undefined : this.#get('modify' in change ? change.name : change.remove)
      const record = 'add' in change ? change.add : 'modify' in change ? change.modify : undefined
      if (record !== undefined) {
        if (old === undefined) lastId = checkNewId(record, lastId)
        else checkSameId(old, record)
        added.push(record)
      }
      if (old !== undefined) gone.add(old)
      jsonBytes += (record?.jsonBytes ?? 0) - (old?.jsonBytes ?? 0)
      labels += countLabels(record?.labels) - countLabels(old?.labels)
      before.push(old)
    })
    return { before, difference: { gone, added }, jsonBytes, labels, lastId }
  }

  #dropUnused() {
    const nowMs = this.#nowMs()
    for (const [sort, order] of this.#orders) if (order.isUnused(nowMs)) this.#orders.delete(sort)
  }

  #alter(change: Change): Configuration | undefined {
    if ('modify' in change) return this.#replace(change.name, change.modify)
    if ('remove' in change) return this.#take(change.remove)
    const lastId = checkNewId(change.add, this.#lastId)
    this.#put(change.add)
    this.#lastId = lastId
    return undefined
  }

  #put(record: Configuration) {
    this.#checkFree(record.name)
    this.#byName.set(record.name, record)
    this.#jsonBytes += record.jsonBytes
    this.#labels += countLabels(record.labels)
    this.#byId.insert(record)
    for (const order of this.#orders.values()) order.change(undefined, record)
  }

  #replace(name: string, record: Configuration): Configuration {
    const old = this.#get(name)
    checkSameId(old, record)
    if (record.name !== name) {
      this.#checkFree(record.name)
      this.#byName.delete(name)
    }
    this.#byName.set(record.name, record)
    this.#jsonBytes += record.jsonBytes - old.jsonBytes
    this.#labels += countLabels(record?.labels) - countLabels(old?.labels)
    this.#byId.replace(old, record)
    for (const order of this.#orders.values()) order.change(old, record)
    return old
  }

  #take(name: string): Configuration {
    const record = this.#get(name)
    this.#byName.delete(name)
    this.#jsonBytes -= record.jsonBytes
    this.#labels -= countLabels(record.labels)
    this.#byId.remove(record)
    for (const order of this.#orders.values()) order.change(record, undefined)
    return record
  }

  #get(name: string): Configuration {
    const record = this.#byName.get(name)
    if (record === undefined) throw new Error(`there is no "${name}"`)
    return record
  }

  #checkFree(name: string) {
    if (this.#byName.has(name)) throw new Error(`the name "${name}" is taken`)
  }

  #orderedBy(sort: Sort | undefined): SortedIndex<Configuration> {
    if (sort === undefined) return this.#byId
    if (this.#orders.get(sort)?.isReady !== true && this.isOrdered(sort)) runAtOnce(this.order(sort))
    const order = this.#orders.get(sort)
    if (order === undefined) throw new Error(`Cannot list by "${sort}" before the order is made`)
    return order.use()
  }
}

function* namesOf(records: Iterable<Configuration>): LongWork<Map<string, Configuration>> {
  const byName = new Map<string, Configuration>()
  yield* inSteps(records, (record) => byName.set(record.name, record))
  return byName
}

/** @returns The new highest id. */
function checkNewId({ id }: Configuration, lastId: number): number {
  if (id <= lastId) throw new Error(`id ${id} was given before`)
  return id
}

function checkSameId(old: Configuration, { id }: Configuration) {
  if (old.id !== id) throw new Error(`"${old.name}" has id ${old.id}, not ${id}`)
}

function compareIds(a: Configuration, b: Configuration): number {
  return a.id - b.id
}

/** Strings by UTF-16 code unit, ports as numbers; ties by rising id in either direction. */
export function compareBy(sort: Sort): (a: Configuration, b: Configuration) => number {
  const direction = sort.startsWith('-') ? -1 : 1
  const field = sort.replace('-', '') as FieldName
  return (a, b) => {
    const [one, other] = [a[field], b[field]]
    if (one === other) return a.id - b.id
    return isBefore(one, other) ? -direction : direction
  }
}

/** Whether one value of a field, which is not the other, comes before it. Records without a value come first. */
export function isBefore(one: FieldValue, other: FieldValue): boolean {
  return one === undefined || (other !== undefined && one < other)
}

type FieldValue = Configuration[FieldName] | undefined
