import { type Address, filterParameters } from './address.ts'

/** What keeps records in a list, or in a selection. */
export type Search = Pick<Address, 'q' | 'filters'>

/** As many single records as the filter `id` takes. */
export const SELECTED_MAX = 1_000

/** The records that a person has selected: single ones, or all that a search keeps. */
export class Selection {
  readonly #ids = new Set<number>()
  #search: Search | undefined

  /** Set if all records that it keeps are selected. */
  get search(): Search | undefined {
    return this.#search
  }

  /** How many single records are selected. */
  get size(): number {
    return this.#ids.size
  }

  /** Whether a record that the present list keeps is selected. */
  has(id: number): boolean {
    return this.#search !== undefined || this.#ids.has(id)
  }

  /** Keeps exactly the selected records. */
  get target(): Search {
    return this.#search ?? { q: '', filters: [['id', [...this.#ids].join(',')]] }
  }

  /**
   * Selects single records, or not any longer.
   *
   * @param shown Ids of the page. If all were selected, those are what stays, without the ones that are taken out.
   * @returns False if they would be more than SELECTED_MAX; nothing has changed then.
   */
  set(ids: readonly number[], isSelected: boolean, shown: readonly number[]): boolean {
    if (this.#search !== undefined) {
      if (isSelected) return true
      this.#search = undefined
      for (const id of shown) this.#ids.add(id)
    }
    if (!isSelected) {
      for (const id of ids) this.#ids.delete(id)
      return true
    }
    const all = new Set([...this.#ids, ...ids])
    if (all.size > SELECTED_MAX) return false
    for (const id of all) this.#ids.add(id)
    return true
  }

  /** Selects all that a search keeps, in place of single records. */
  selectAll(search: Search): void {
    this.#ids.clear()
    this.#search = search
  }

  clear(): void {
    this.#ids.clear()
    this.#search = undefined
  }

  /** Forgets records that are gone. @returns Whether one was selected. */
  forget(...ids: readonly number[]): boolean {
    return ids.filter((id) => this.#ids.delete(id)).length > 0
  }

  /** Forgets all single records but these. */
  keepOnly(ids: ReadonlySet<number>): void {
    for (const id of this.#ids) if (!ids.has(id)) this.#ids.delete(id)
  }

  /** Another search unselects "all that the search keeps"; records that were selected one by one stay selected. */
  showSearch(search: Search): void {
    if (this.#search !== undefined && queryOf(this.#search) !== queryOf(search)) this.#search = undefined
  }
}

/** A search as the API takes it. Commas stay as they are: a thousand ids would be too long otherwise. */
export function queryOf(search: Search): string {
  return filterParameters(search).toString().replaceAll('%2C', ',')
}
