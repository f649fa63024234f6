import { isUnchanged } from '../http/header-fields.ts'
import type { Reply, Request } from '../http/message.ts'
import { UNSTREAMED_BYTES_MAX } from '../limits.ts'
import type { Scheduler } from '../scheduler.ts'
import { accessOf } from '../store/access.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { FilteredList } from './filtered-list.ts'
import { pageLinks, parseListQuery } from './list-query.ts'
import {
  CACHE_CONTROL,
  checkIfMatch,
  envelope,
  jsonOf,
  jsonOnceOf,
  longBytesOf,
  streamed,
} from './list-reply.ts'
import { PageMemory, pageKeyOf } from './page-memory.ts'
import type { WaitingPolls } from './waiting-polls.ts'

/** In a list up to this size, each record keeps its JSON. */
const KEPT_JSON_BYTES_MAX = 4 * 1024 * 1024

/** Answers the list of records: all, filtered, or one page. */
export class ConfigurationList {
  readonly #store: ConfigurationStore
  readonly #path: string
  readonly #polls: WaitingPolls | undefined
  readonly #pages = new PageMemory()
  readonly #filtered: FilteredList

  /**
   * @param path The path of the list.
   * @param polls As for `configurationHandlers`.
   */
  constructor(
    store: ConfigurationStore,
    scheduler: Scheduler,
    path: string,
    polls: WaitingPolls | undefined,
  ) {
    this.#store = store
    this.#path = path
    this.#polls = polls
    this.#filtered = new FilteredList(store, scheduler, this.#pages, path)
  }

  /** Waits for a change first, if the request prefers that. */
  answer(request: Request): Reply | Promise<Reply> {
    if (request.headers.prefer === undefined || this.#polls === undefined) return this.#answerNow(request)
    const asked = parseListQuery(request.query).filter
    const access = accessOf(request)
    const filter = access === undefined ? asked : access.limit(asked)
    return this.#polls.answer(request, { list: true, filter }, () => this.#answerNow(request))
  }

  #answerNow(request: Request): Reply | Promise<Reply> {
    const { query } = request
    const { tag, revision } = this.#store
    const access = accessOf(request)
    const key = pageKeyOf(query, access)
    const remembered = isConditional(request) ? undefined : this.#pages.find(key, tag)
    if (remembered !== undefined) return remembered
    const parsed = parseListQuery(query)
    const { sort, page } = parsed
    const filter = access === undefined ? parsed.filter : access.limit(parsed.filter)
    if (filter !== undefined)
      return this.#filtered.answer(request, { asked: parsed, access, filter, sort, page })
    const headers: Record<string, string> = {
      'Cache-Control': CACHE_CONTROL,
      ETag: `"${this.#store.tagFor(access)}"`,
      'X-Total-Count': String(this.#store.count),
    }
    if (page !== undefined) headers.Link = pageLinks(this.#path, parsed, page, this.#store.count)
    const etag = headers.ETag ?? ''
    checkIfMatch(request, etag)
    if (isUnchanged(request.headers['if-none-match'], etag)) return { status: 304, headers }
    if (sort !== undefined && !this.#store.isOrdered(sort))
      return this.#store.order(sort).then(() => this.#answerNow(request))
    if (page !== undefined) {
      const records = this.#store.list(page.page * page.perPage, page.perPage, sort)
      const bytes = longBytesOf(records)
      if (bytes !== undefined) return streamed(records, bytes, headers, jsonOf)
      const reply = envelope(records, headers)
      this.#pages.add(key, tag, reply)
      return reply
    }
    const { count, jsonBytes } = this.#store
    if (jsonBytes + count <= UNSTREAMED_BYTES_MAX) return envelope(this.#store.list(0, count, sort), headers)
    const encode = jsonBytes <= KEPT_JSON_BYTES_MAX ? jsonOf : jsonOnceOf
    const reply = streamed(this.#store.freeze(sort), jsonBytes + count - 1, headers, encode)
    return { ...reply, keeps: { revision, records: count, jsonBytes } }
  }
}

function isConditional({ headers }: Request): boolean {
  return headers['if-match'] !== undefined || headers['if-none-match'] !== undefined
}
