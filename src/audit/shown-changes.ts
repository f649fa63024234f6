import { CHANGES_SHOWN_MAX } from '../limits.ts'
import type { ImportPlan } from '../store/bulk-change.ts'
import type { Configuration } from '../store/configuration.ts'
import { changesBetween } from './audit-line.ts'

/** What would become of a record: its name now, and each changed field and label, as history has it. */
export interface ShownChange {
  readonly name: string
  readonly changed: Readonly<Record<string, unknown>>
}

/** The first modifications of a plan, by id. */
export function shownModifications({ modified }: Pick<ImportPlan, 'modified'>): ShownChange[] {
  const first = modified.toSorted((a, b) => a.before.id - b.before.id).slice(0, CHANGES_SHOWN_MAX)
  return first.map(({ before, after }) => {
    const { name, changed } = changesBetween(before, after)
    return { name, changed }
  })
}

/** The first removals of a plan, by id. */
export function shownRemovals({ removed }: Pick<ImportPlan, 'removed'>): {
  readonly name: string
  readonly record: Configuration
}[] {
  const first = removed.toSorted((a, b) => a.id - b.id).slice(0, CHANGES_SHOWN_MAX)
  return first.map((record) => ({ name: record.name, record }))
}
