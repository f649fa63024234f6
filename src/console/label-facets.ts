import { type Address, isNegative, keyOfLabel } from './address.ts'
import { queryOf, type Search } from './selection.ts'

/** The answer of `/v1/labels`. */
export interface LabelsAnswer {
  readonly labels: readonly {
    readonly key: string
    readonly values: readonly { readonly value: string; readonly count: number }[]
    /** Values that are not listed. */
    readonly more: number
  }[]
  /** Keys that are not listed. */
  readonly more: number
}

/** A key with the values that one can choose. */
export interface Facet {
  readonly key: string
  readonly values: readonly FacetValue[]
  readonly more: number
}

interface FacetValue {
  readonly value: string
  /** Undefined if it is not listed. */
  readonly count?: number
  readonly isChosen: boolean
}

/** Paths of `/v1/labels`: with all filters, and for each key that has one, without those of the key. */
export function facetPaths(search: Search): ReadonlyMap<string | undefined, string> {
  const without = chosenKeys(search).map((key): [string, string] => {
    const filters = search.filters.filter((filter) => !isOfKey(filter, key))
    return [key, pathOf({ ...search, filters })]
  })
  return new Map<string | undefined, string>([[undefined, pathOf(search)], ...without])
}

/**
 * What one can choose: for each key, the values of the records that the filters of other keys keep, and the chosen values.
 *
 * @param counts By the keys of `facetPaths`.
 */
export function facetsOf(
  search: Search,
  counts: ReadonlyMap<string | undefined, LabelsAnswer>,
): readonly Facet[] {
  const keys = counts.get(undefined)?.labels.map(({ key }) => key) ?? []
  return [...new Set([...chosenKeys(search), ...keys])].map((key) => {
    const found = (counts.get(key) ?? counts.get(undefined))?.labels.find((label) => label.key === key)
    const { values = [], more = 0 } = found ?? {}
    const chosen = search.filters
      .filter((filter) => isOfKey(filter, key) && filter[1].includes('='))
      .map(([, label]) => label.slice(key.length + 1))
    const unlisted = [...new Set(chosen)].filter((value) => !values.some((each) => each.value === value))
    return {
      key,
      more: Math.max(0, more - unlisted.length),
      values: [
        ...values.map((each) => ({ ...each, isChosen: chosen.includes(each.value) })),
        ...unlisted.map((value) => ({ value, isChosen: true })),
      ],
    }
  })
}

/** The filters with one more label, or without it. */
export function choose(filters: Address['filters'], label: string, isChosen: boolean): Address['filters'] {
  const others = filters.filter(([name, value]) => name !== 'label' || value !== label)
  return isChosen ? [...others, ['label', label]] : others
}

function chosenKeys({ filters }: Search): readonly string[] {
  const labels = filters.flatMap(([name, value]) => (name === 'label' && !isNegative(value) ? value : []))
  return [...new Set(labels.map(keyOfLabel))]
}

/** Whether a filter wants the key, with any value or one. */
function isOfKey([name, value]: Address['filters'][number], key: string): boolean {
  return name === 'label' && !isNegative(value) && keyOfLabel(value) === key
}

function pathOf(search: Search): string {
  return `v1/labels?${queryOf(search)}`
}
