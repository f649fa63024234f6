import type { Change } from './change.ts'
import type { Configuration } from './configuration.ts'
import { recordFields, type SortField } from './fields.ts'
import { SortedIndex } from './sorted-index.ts'

export const sortFields: readonly SortField[] = recordFields.flatMap(({ name, isSortable }) =>
  isSortable ? name : [],
)

/** How a list is ordered: by a field, rising, or falling with `-`. */
export type Sort = SortField | `-${SortField}`

/** All durable records in memory: by name, by id, and in every order used so far. */
export class ConfigurationIndex {
  readonly #byName = new Map<string, Configuration>()
  #byId = new SortedIndex<Configuration>(compareIds)
  readonly #sorted = new Map<Sort, SortedIndex<Configuration>>()
  #jsonBytes = 0
  #revision = 0
  #lastId = 0

  get count(): number {
    return this.#byName.size
  }

  /** Bytes of all records as JSON, without separators. */
  get jsonBytes(): number {
    return this.#jsonBytes
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

  /**
   * Up to `limit` records from `offset` on, in logarithmic time; without `sort` by rising id.
   *
   * The first use of a `sort` orders all records once.
   */
  slice(offset: number, limit: number, sort?: Sort): Configuration[] {
    return this.#orderedBy(sort).slice(offset, limit)
  }

  /** All records in order as they are now, whatever changes later; without `sort` by rising id. */
  freeze(sort?: Sort): Iterable<Configuration> {
    return this.#orderedBy(sort).freeze()
  }

  /** Replaces everything by the records of a snapshot. */
  load(records: readonly Configuration[], jsonBytes: number, revision: number, lastId: number): void {
    this.#byName.clear()
    this.#sorted.clear()
    for (const record of records) this.#byName.set(record.name, record)
    if (this.#byName.size !== records.length) throw new Error('two records have the same name')
    this.#byId = new SortedIndex(compareIds, records)
    this.#jsonBytes = jsonBytes
    this.#revision = revision
    this.#lastId = lastId
  }

  /**
   * @returns The record as it was before; undefined for one that is added.
   * @throws {Error} if the change does not fit the records; an intact journal never has such a change.
   */
  apply(change: Change, revision: number): Configuration | undefined {
    const before = this.#alter(change)
    this.#revision = revision
    return before
  }

  #alter(change: Change): Configuration | undefined {
    if ('modify' in change) return this.#replace(change.name, change.modify)
    if ('remove' in change) return this.#take(change.remove)
    if (change.add.id <= this.#lastId) throw new Error(`id ${change.add.id} was given before`)
    this.#put(change.add)
    this.#lastId = change.add.id
    return undefined
  }

  #put(record: Configuration) {
    this.#checkFree(record.name)
    this.#byName.set(record.name, record)
    this.#jsonBytes += record.jsonBytes
    this.#byId.insert(record)
    for (const index of this.#sorted.values()) index.insert(record)
  }

  #replace(name: string, record: Configuration): Configuration {
    const old = this.#get(name)
    if (old.id !== record.id) throw new Error(`"${name}" has id ${old.id}, not ${record.id}`)
    if (record.name !== name) {
      this.#checkFree(record.name)
      this.#byName.delete(name)
    }
    this.#byName.set(record.name, record)
    this.#jsonBytes += record.jsonBytes - old.jsonBytes
    this.#byId.replace(old, record)
    for (const index of this.#sorted.values()) index.replace(old, record)
    return old
  }

  #take(name: string): Configuration {
    const record = this.#get(name)
    this.#byName.delete(name)
    this.#jsonBytes -= record.jsonBytes
    this.#byId.remove(record)
    for (const index of this.#sorted.values()) index.remove(record)
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
    let index = this.#sorted.get(sort)
    if (index === undefined) {
      const compare = compareBy(sort)
      index = new SortedIndex(compare, this.#byId.slice(0, this.count).sort(compare))
      this.#sorted.set(sort, index)
    }
    return index
  }
}

function compareIds(a: Configuration, b: Configuration): number {
  return a.id - b.id
}

/** Strings by UTF-16 code unit, ports as numbers; ties by rising id in either direction. */
function compareBy(sort: Sort): (a: Configuration, b: Configuration) => number {
  const direction = sort.startsWith('-') ? -1 : 1
  const field = sort.replace('-', '') as SortField
  return (a, b) => {
    if (a[field] === b[field]) return a.id - b.id
    return a[field] < b[field] ? -direction : direction
  }
}
