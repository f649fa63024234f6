import { isObject, printableJson } from '../json.ts'
import { escapeHidden } from '../text.ts'

/** A value that needs no quotes to stand out in a line. */
const PLAIN = /^[^\s",]+$/
const NONE = '-'

/**
 * What would become of a record, in words: `modify "web1": port 22 -> 2222, label.env prod -> -`.
 *
 * @param changed Each field and label with its value before and after, as history has it; null for none.
 */
export function describeModification(name: string, changed: unknown): string {
  const parts = Object.entries(isObject(changed) ? changed : {}).map(([field, values]) => {
    const { before, after } = isObject(values) ? values : {}
    const shownField = field.startsWith('labels.') ? field.replace('labels.', 'label.') : field
    return `${escapeHidden(shownField)} ${shown(before)} -> ${shown(after)}`
  })
  const what = `modify ${printableJson(name)}`
  return parts.length === 0 ? what : `${what}: ${parts.join(', ')}`
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return NONE
  if (typeof value !== 'string') return printableJson(value)
  return PLAIN.test(value) && value !== NONE ? escapeHidden(value) : printableJson(value)
}
