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
