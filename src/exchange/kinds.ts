import type { Labels } from '../store/labels.ts'

/** The label that says what listens at the address of a record. */
export const KIND_LABEL = 'kind'

/** Kinds that a tool is made for. */
export type ToolKind = 'ssh' | 'postgres'

const otherWords: Readonly<Record<string, ToolKind>> = { postgresql: 'postgres', pg: 'postgres' }

/** What a record says it is, in one word for each of the kinds above; undefined if it says nothing. */
export function kindOf(labels: Labels | undefined): string | undefined {
  if (labels === undefined || !Object.hasOwn(labels, KIND_LABEL)) return undefined
  const kind = labels[KIND_LABEL] ?? ''
  return Object.hasOwn(otherWords, kind) ? otherWords[kind] : kind
}
