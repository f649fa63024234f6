import { CHANGES_SHOWN_MAX } from '../limits.ts'
import type { ImportPlan } from '../store/bulk-change.ts'
import type { Configuration } from '../store/configuration.ts'
import { changesBetween } from './audit-line.ts'

/** Changes among which the first ones are looked for at once. */
const SORTED_AT_ONCE = 8 * CHANGES_SHOWN_MAX

/** What would become of a record: its name now, and each changed field and label, as history has it. */
export interface ShownChange {
  readonly name: string
  readonly changed: Readonly<Record<string, unknown>>
}

/** The first modifications of a plan, by id. */
export function shownModifications({ modified }: Pick<ImportPlan, 'modified'>): ShownChange[] {
  return firstById(modified, ({ before }) => before.id).map(({ before, after }) => {
    const { name, changed } = changesBetween(before, after)
    return { name, changed }
  })
}

/** The first removals of a plan, by id. */
export function shownRemovals({ removed }: Pick<ImportPlan, 'removed'>): {
  readonly name: string
  readonly record: Configuration
}[] {
  return firstById(removed, ({ id }) => id).map((record) => ({ name: record.name, record }))
}

/** The first CHANGES_SHOWN_MAX by id. To sort all 250,000 of an import would hold up everybody for half a second. */
function firstById<Item>(items: readonly Item[], idOf: (item: Item) => number): readonly Item[] {
  const cut = (some: Item[]) => some.sort((a, b) => idOf(a) - idOf(b)).slice(0, CHANGES_SHOWN_MAX)
  let first: Item[] = []
  let highest = Number.POSITIVE_INFINITY
  for (const item of items) {
    if (idOf(item) >= highest) continue
    first.push(item)
    if (first.length < SORTED_AT_ONCE) continue
    first = cut(first)
    highest = Math.max(...first.map(idOf))
  }
  return cut(first)
}
