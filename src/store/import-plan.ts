import type { Alteration } from './change.ts'
import { Configuration, type NewConfiguration } from './configuration.ts'
import type { ImportMode } from './import-mode.ts'

/** What an import would do, or did. */
export interface ImportPlan {
  readonly added: readonly Configuration[]
  readonly modified: readonly { readonly before: Configuration; readonly after: Configuration }[]
  readonly removed: readonly Configuration[]
  /** How many records are stored already as they are. */
  readonly unchanged: number
}

/** How many records of each kind there are in a plan. */
export function countsOf({ added, modified, removed, unchanged }: ImportPlan) {
  return { added: added.length, modified: modified.length, removed: removed.length, unchanged }
}

/**
 * Compares records with those that are stored.
 *
 * @param drafts No two with the same name.
 * @param stored All stored records; read only in the mode `replace`.
 * @param find The stored record of a name.
 * @param lastId The highest id ever given.
 */
export function planImport(
  drafts: readonly NewConfiguration[],
  mode: ImportMode,
  stored: Iterable<Configuration>,
  find: (name: string) => Configuration | undefined,
  lastId: number,
): ImportPlan {
  const added: Configuration[] = []
  const modified: { before: Configuration; after: Configuration }[] = []
  let unchanged = 0
  for (const draft of drafts) {
    const before = find(draft.name)
    const after = before?.with(draft) ?? new Configuration(lastId + added.length + 1, draft)
    if (before === undefined) added.push(after)
    else if (after === before) unchanged += 1
    else modified.push({ before, after })
  }
  if (mode === 'merge') return { added, modified, removed: [], unchanged }
  const kept = new Set(drafts.map(({ name }) => name))
  const removed = [...stored].filter(({ name }) => !kept.has(name))
  return { added, modified, removed, unchanged }
}

/** The changes of a plan, in an order in which they can be applied one by one. */
export function changesOf({ added, modified, removed }: ImportPlan): Alteration[] {
  return [
    ...removed.map(({ name }) => ({ remove: name })),
    ...modified.map(({ before, after }) => ({ modify: after, name: before.name })),
    ...added.map((record) => ({ add: record })),
  ]
}
