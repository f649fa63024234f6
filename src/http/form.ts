/**
 * Takes `application/x-www-form-urlencoded` text, or the query of a URL, apart into decoded pairs.
 *
 * Stricter than `URLSearchParams`, which guesses.
 *
 * @returns undefined when a name or value is no percent-encoded UTF-8.
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

/** Decodes one name or value; undefined when it is no percent-encoded UTF-8. */
export function decodeForm(text: string): string | undefined {
  if (!/[+%]/.test(text)) return text
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
