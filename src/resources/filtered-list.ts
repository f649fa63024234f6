import { isUnchanged } from '../http/header-fields.ts'
import { callerKey, type Reply, type Request } from '../http/message.ts'
import { UNSTREAMED_BYTES_MAX } from '../limits.ts'
import type { LongWork, Scheduler } from '../scheduler.ts'
import type { Access } from '../store/access.ts'
import type { Configuration } from '../store/configuration.ts'
import { compareBy } from '../store/configuration-index.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { type Filter, type Matcher, matcherOf, type Stretch, stretchOf } from '../store/record-filter.ts'
import { sortInSlices } from '../store/slices.ts'
import { type ListQuery, pageLinks } from './list-query.ts'
import { CACHE_CONTROL, checkIfMatch, envelope, jsonOf, longBytesOf, streamed } from './list-reply.ts'
import { type PageMemory, pageKeyOf } from './page-memory.ts'

/** Records that a search holds. If it finds more, it looks at all again to sort or to send them. */
export const SEARCH_RECORDS_MAX = 10_000
/** Searches whose count is remembered until a record changes. */
export const SEARCH_COUNTS_MAX = 100

/** What is asked for, and what that is for somebody who sees only some records. */
interface FilteredQuery extends ListQuery {
  readonly asked: ListQuery
  readonly access: Access | undefined
  /** What the filter that was asked for keeps of the records that are seen. */
  readonly filter: Filter
}

/** What a filter finds, at one revision. */
interface FoundRecords {
  readonly revision: number
  /** Tag of the list of all records at the revision. */
  readonly tag: string
  /** The ETag, which is another one for those who see only some records. */
  readonly etag: string
  /** On all pages. */
  readonly count: number
  /** Those of the page, or all. */
  readonly records: Iterable<Configuration>
  /** How many of `records` are kept. */
  readonly length: number
  /** Says which of `records` are kept; undefined if all are. */
  readonly matches?: Matcher
}

/** Fewer records than UNSTREAMED_BYTES_MAX has room for may be long, more cannot be short. */
const RECORD_BYTES_MIN = '{"id":1,"name":"n","hostname":"h","port":1,"username":"u"}'.length

/**
 * Answers lists with filters.
 *
 * What stands together in a kept order is taken from there. For everything else all records are looked at, in slices:
 * in the order of ids, which is the order in memory, as the way through memory takes most of the time.
 */
export class FilteredList {
  readonly #store: ConfigurationStore
  readonly #scheduler: Scheduler
  readonly #pages: PageMemory
  readonly #path: string
  readonly #counts = new CountMemory()

  /** @param path The path of the list. */
  constructor(store: ConfigurationStore, scheduler: Scheduler, pages: PageMemory, path: string) {
    this.#store = store
    this.#scheduler = scheduler
    this.#pages = pages
    this.#path = path
  }

  answer(request: Request, query: FilteredQuery): Reply | Promise<Reply> {
    const { tag, revision } = this.#store
    const etag = this.#etagFor(query)
    checkIfMatch(request, etag)
    const { name } = query.filter
    const stretch = stretchOf(query.filter, query.sort)
    if (name !== undefined) return this.#reply(request, query, this.#named(query, name))
    if (stretch !== undefined) {
      if (this.#store.isOrdered(stretch.order))
        return this.#reply(request, query, this.#within(query, stretch))
      return this.#store.order(stretch.order).then(() => this.answer(request, query))
    }
    const count = this.#counts.find(JSON.stringify(query.filter), tag)
    if (count !== undefined && isUnchanged(request.headers['if-none-match'], etag))
      return this.#reply(request, query, { tag, etag, revision, count, records: [], length: 0 })
    return this.#search(request, query).then((kept) => this.#reply(request, query, kept))
  }

  #reply(request: Request, query: FilteredQuery, kept: FoundRecords): Reply {
    const { page, asked, access } = query
    const { tag, etag, revision, count } = kept
    const headers: Record<string, string> = {
      'Cache-Control': CACHE_CONTROL,
      ETag: etag,
      'X-Total-Count': String(count),
    }
    if (page !== undefined) headers.Link = pageLinks(this.#path, asked, page, count)
    checkIfMatch(request, etag)
    if (isUnchanged(request.headers['if-none-match'], etag)) return { status: 304, headers }
    const few = page === undefined ? findFew(kept) : [...kept.records]
    if (few === undefined) {
      const { records, matches } = kept
      const encode = (record: Configuration) =>
        matches === undefined || matches(record) ? record.jsonOnce : undefined
      // At most: part of the records, and those of now instead of those of then.
      const keeps = { revision, records: this.#store.count, jsonBytes: this.#store.jsonBytes }
      return { ...streamed(records, undefined, headers, encode), keeps }
    }
    const bytes = longBytesOf(few)
    if (bytes !== undefined) return streamed(few, bytes, headers, jsonOf)
    const reply = envelope(few, headers)
    if (page !== undefined && tag === this.#store.tag)
      this.#pages.add(pageKeyOf(request.query, access), tag, reply)
    return reply
  }

  #etagFor({ access }: FilteredQuery): string {
    return `"${this.#store.tagFor(access)}"`
  }

  #named(query: FilteredQuery, name: string): FoundRecords {
    const { filter, page } = query
    const record = this.#store.find(name)
    const all = record !== undefined && matcherOf(filter)(record) ? [record] : []
    const { offset, limit } = partOf(page, 1)
    const records = all.slice(offset, offset + limit)
    const { tag, revision } = this.#store
    return { tag, etag: this.#etagFor(query), revision, count: all.length, records, length: records.length }
  }

  #within(query: FilteredQuery, stretch: Stretch): FoundRecords {
    const { page } = query
    const { tag, revision } = this.#store
    const { offset: begin, count } = this.#store.measure(stretch)
    const { offset, limit } = partOf(page, count)
    const length = Math.max(0, Math.min(limit, count - offset))
    const records =
      page === undefined
        ? this.#store.freeze(stretch.order, begin, length)
        : this.#store.list(begin + offset, length, stretch.order)
    return { tag, etag: this.#etagFor(query), revision, count, records, length }
  }

  /** Stops when the client goes. */
  async #search(request: Request, query: FilteredQuery): Promise<FoundRecords> {
    let order: FilteredQuery['sort']
    for (;;) {
      if (order !== undefined && !this.#store.isOrdered(order)) await this.#store.order(order)
      const kept = await this.#scheduler.run(callerKey(request), this.#look(query, order), request.signal)
      if (kept !== undefined) return kept
      order = query.sort
    }
  }

  /**
   * Looks at the records of the moment when it begins.
   *
   * @param order That of the sort, or undefined for that of ids.
   * @returns Undefined if it takes the order of the sort: too many are kept to be sorted for this answer.
   */
  *#look(query: FilteredQuery, order: ListQuery['sort']): LongWork<FoundRecords | undefined> {
    const { filter, sort, page } = query
    // Dropped since it was made.
    if (order !== undefined && !this.#store.isOrdered(order)) return undefined
    const { tag, revision } = this.#store
    const etag = this.#etagFor(query)
    const key = JSON.stringify(filter)
    const known = this.#counts.find(key, tag)
    const isSorted = order === sort
    if (!isSorted && known !== undefined && known > SEARCH_RECORDS_MAX) return undefined
    const matches = matcherOf(filter)
    const records = this.#store.freeze(order)
    const part = partOf(isSorted ? page : undefined, SEARCH_RECORDS_MAX)
    const found = yield* scanRecords(records.leaves, matches, part, known)
    const { count } = found
    this.#counts.add(key, tag, count)
    if (isSorted && page !== undefined) return { tag, etag, revision, ...found, length: found.records.length }
    if (count > SEARCH_RECORDS_MAX)
      return isSorted ? { tag, etag, revision, count, records, length: count, matches } : undefined
    const few =
      sort === undefined || isSorted ? found.records : yield* sortInSlices(found.records, compareBy(sort))
    const { offset, limit } = partOf(page, count)
    const onPage = page === undefined ? few : few.slice(offset, offset + limit)
    return { tag, etag, revision, count, records: onPage, length: onPage.length }
  }
}

/** Without a page, the first ones. */
function partOf(page: ListQuery['page'], limit: number) {
  return page === undefined ? { offset: 0, limit } : { offset: page.page * page.perPage, limit: page.perPage }
}

/** The records, if they may be short enough for one piece. */
function findFew({ records, length }: FoundRecords): Configuration[] | undefined {
  if (length * RECORD_BYTES_MIN > UNSTREAMED_BYTES_MAX) return undefined
  const few: Configuration[] = []
  let characters = 0
  for (const record of records) {
    few.push(record)
    characters += record.json.length
    if (characters > UNSTREAMED_BYTES_MAX) return undefined
  }
  return few
}

/** A part of the records that are kept. */
interface Part {
  readonly offset: number
  readonly limit: number
}

/**
 * Looks at all records.
 *
 * @param leaves Frozen records, in short arrays: each is one step.
 * @param total How many records are kept, if that is known: then it stops at the end of the part.
 * @returns How many records are kept, and those of the part.
 */
function* scanRecords(
  leaves: Iterable<readonly Configuration[]>,
  matches: Matcher,
  { offset, limit }: Part,
  total?: number,
): LongWork<{ readonly count: number; readonly records: Configuration[] }> {
  const records: Configuration[] = []
  let count = 0
  for (const leaf of leaves) {
    for (const record of leaf) {
      if (!matches(record)) continue
      if (count >= offset && records.length < limit) records.push(record)
      count += 1
    }
    if (total !== undefined && records.length === limit) break
    yield
  }
  return { count: total ?? count, records }
}

/**
 * How many records the latest searches found, for as long as no record changes: a 304 says so without a search, and the
 * next page of a search does not look beyond its own end.
 */
export class CountMemory {
  readonly #counts = new Map<string, number>()
  /** The tag of the records that all of them are of. */
  #tag = ''

  find(search: string, tag: string): number | undefined {
    return tag === this.#tag ? this.#counts.get(search) : undefined
  }

  /** Forgets the counts of another tag. */
  add(search: string, tag: string, count: number): void {
    if (tag !== this.#tag) this.#counts.clear()
    this.#tag = tag
    this.#counts.delete(search)
    this.#counts.set(search, count)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size > SEARCH_COUNTS_MAX && oldest !== undefined) this.#counts.delete(oldest)
  }
}
