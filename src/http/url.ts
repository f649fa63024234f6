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

export interface Page {
  /** From 0. */
  readonly page: number
  readonly perPage: number
}

/**
 * A `Link` header (RFC 8288) with the pages `first`, `prev`, `next` and `last`, if they exist.
 *
 * @param target Path and start of the query; ends in `?` or `&`.
 * @param total Records on all pages.
 */
export function linkHeader(target: string, { page, perPage }: Page, total: number): string {
  const last = Math.max(0, Math.ceil(total / perPage) - 1)
  const links: [string, number][] = [['first', 0]]
  if (page > 0) links.push(['prev', Math.min(page - 1, last)])
  if (page < last) links.push(['next', page + 1])
  links.push(['last', last])
  return links.map(([rel, to]) => `<${target}page=${to}&per_page=${perPage}>; rel="${rel}"`).join(', ')
}
