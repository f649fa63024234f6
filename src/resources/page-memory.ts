import type { Reply } from '../http/message.ts'
import type { Access } from '../store/access.ts'

/** Pages kept as they were sent until a record changes: some 25 of 50 records each. */
export const REMEMBERED_PAGES_BYTES_MAX = 256 * 1024
/** A page that is asked for again after so many others is not kept. */
export const ASKED_PAGES_MAX = 16
/** The page of a longer query is not kept; any page can be asked for with fewer. */
export const PAGE_QUERY_CHARACTERS_MAX = 128

/** A character of a string takes one byte or two. */
const CHARACTER_BYTES_MAX = 2

/** The answer to a list query whose body is in one piece. */
export type PageReply = Reply & { readonly body: string }

/** What a page is kept by: its query as it was sent, and who sees it so. No query has a space. */
export function pageKeyOf(query: string, access: Access | undefined): string {
  return access === undefined ? query : `${access.key} ${query}`
}

/**
 * The pages asked for again and again, by their `pageKeyOf`, for as long as no record changes.
 *
 * A page is remembered when it is put together a second time: for somebody who reads all pages once, that would only
 * fill the memory with what nobody asks for again.
 */
export class PageMemory {
  readonly #pages = new Map<string, PageReply>()
  /** Queries whose page was put together once. */
  readonly #asked = new Set<string>()
  /** The tag of the records that all of them show. */
  #tag = ''
  #bytes = 0

  /** The page of a query as it is with this tag; undefined if it must be put together. */
  find(query: string, tag: string): PageReply | undefined {
    return tag === this.#tag ? this.#pages.get(query) : undefined
  }

  /** Call it with each page that is put together, after `find`. Forgets the pages of another tag. */
  add(query: string, tag: string, page: PageReply): void {
    if (tag !== this.#tag) {
      this.#tag = tag
      this.#asked.clear()
      this.#forgetPages()
    }
    if (query.length > PAGE_QUERY_CHARACTERS_MAX) return
    if (this.#asked.delete(query)) {
      this.#remember(query, page)
      return
    }
    if (this.#asked.size >= ASKED_PAGES_MAX) this.#asked.clear()
    this.#asked.add(query)
  }

  #remember(query: string, page: PageReply) {
    const bytes = CHARACTER_BYTES_MAX * (query.length + page.body.length)
    if (this.#bytes + bytes > REMEMBERED_PAGES_BYTES_MAX) this.#forgetPages()
    if (bytes > REMEMBERED_PAGES_BYTES_MAX) return
    this.#pages.set(query, { ...page, bodyBytes: Buffer.byteLength(page.body) })
    this.#bytes += bytes
  }

  #forgetPages() {
    this.#pages.clear()
    this.#bytes = 0
  }
}
