import { HISTORY_ENTRIES_MAX } from '../limits.ts'
import { fieldNames } from '../store/fields.ts'
import { eitherOf } from '../text.ts'

// Each reads the value of a flag, and throws a RangeError that ends the sentence "…, because it must be".

/** The fields of a record that `get --field` can show, beside its labels. */
export const shownFields = ['id', ...fieldNames] as const

const LABEL_PREFIX = 'labels.'

/** A member of a record that is shown alone. */
export type ShownField = { readonly field: (typeof shownFields)[number] } | { readonly label: string }

export function parseShownField(text: string): ShownField {
  const field = shownFields.find((name) => name === text)
  if (field !== undefined) return { field }
  const label = text.startsWith(LABEL_PREFIX) ? text.slice(LABEL_PREFIX.length) : ''
  if (label === '') throw new RangeError(eitherOf([...shownFields, `${LABEL_PREFIX}KEY`]))
  return { label }
}

/** @returns With quotes, as a header has it. */
export function parseTag(text: string): string {
  const tag = /^"?([\x21\x23-\x7e]+)"?$/.exec(text)?.[1]
  if (tag === undefined) throw new RangeError('an ETag, as connbook get NAME --tag prints it')
  return `"${tag}"`
}

export function parseLabel(text: string): readonly [key: string, value: string] {
  const at = text.indexOf('=')
  if (at < 1) throw new RangeError('KEY=VALUE')
  return [text.slice(0, at), text.slice(at + 1)]
}

export function parseLimit(text: string): number {
  const count = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > HISTORY_ENTRIES_MAX)
    throw new RangeError(`a number from 1 to ${HISTORY_ENTRIES_MAX}`)
  return count
}
