/**
 * Parses `application/x-www-form-urlencoded` text, or the query of a URL, into decoded pairs.
 *
 * @returns undefined if a name or value is not percent-encoded UTF-8, where `URLSearchParams` would guess.
 */
export function parseForm(text: string): [name: string, value: string][] | undefined {
  const pairs: [string, string][] = []
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodeForm(equals === -1 ? pair : pair.slice(0, equals))
    const value = decodeForm(equals === -1 ? '' : pair.slice(equals + 1))
    if (name === undefined || value === undefined) return undefined
    pairs.push([name, value])
  }
  return pairs
}

/** Decodes one name or value; undefined if it is not percent-encoded UTF-8. */
export function decodeForm(text: string): string | undefined {
  return decodePercent(text.replaceAll('+', ' '))
}

/** Undefined if the text is not percent-encoded UTF-8. */
export function decodePercent(text: string): string | undefined {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
