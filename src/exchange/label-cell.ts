import type { Labels } from '../store/labels.ts'

/** Labels as one cell of a table: `key=value` joined by `;`, with `\` before each `;` and `\` of a value. */
export function encodeLabelCell(labels: Labels = {}): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value.replace(/[\\;]/g, '\\$&')}`)
    .join(';')
}

/** @param refuse Called with what is wrong with the form. @returns The labels, still to be checked. */
export function parseLabelCell(text: string, refuse: (detail: string) => void): Record<string, string> {
  const labels = new Map<string, string>()
  for (const entry of text === '' ? [] : entriesOf(text)) {
    const [, key = '', value] = /^([^=\\;]*)=((?:\\[\\;]|[^\\;])*)$/.exec(entry) ?? []
    if (value === undefined)
      refuse('must be key=value, joined by ";", with "\\" before each ";" and "\\" of a value')
    else if (labels.has(key)) refuse(`must not name ${JSON.stringify(key)} twice`)
    else labels.set(key, value.replace(/\\([\\;])/g, '$1'))
  }
  // Unlike an assignment, this makes a member `__proto__`, which is then found at fault.
  return Object.fromEntries(labels)
}

/** Splits at each `;` without a `\` before it. */
function entriesOf(text: string): string[] {
  const entries: string[] = []
  let start = 0
  for (let at = 0; at < text.length; at++) {
    if (text.charAt(at) === '\\') at += 1
    else if (text.charAt(at) === ';') {
      entries.push(text.slice(start, at))
      start = at + 1
    }
  }
  return [...entries, text.slice(start)]
}
