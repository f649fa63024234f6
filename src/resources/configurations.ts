import { piecesOf } from '../exchange/export.ts'
import { listEnvelope } from '../exchange/json-format.ts'
import { isExpected, isUnchanged } from '../http/conditional.ts'
import { JSON_TYPE, type Reply, type Request, readJsonObject } from '../http/message.ts'
import { linkHeader, type Page } from '../http/pagination.ts'
import { Problem } from '../http/problem.ts'
import { KEPT_JSON_BYTES_MAX, PAGE_RECORDS_MAX, UNSTREAMED_BYTES_MAX } from '../limits.ts'
import { senderOf } from '../store/actor.ts'
import { type Configuration, parseConfigurationPatch, parseNewConfiguration } from '../store/configuration.ts'
import { type Sort, sortFields } from '../store/configuration-index.ts'
import type { ConfigurationStore, Expectation } from '../store/configuration-store.ts'
import { listTag } from '../store/list-tag.ts'
import { NameTakenError, StaleRecordError, UnknownNameError } from '../store/refusals.ts'
import { PageMemory } from './page-memory.ts'
import { checkQuery, parseQuery, type Query } from './query.ts'

const { start: OPEN, end: CLOSE } = listEnvelope
/** In UTF-8, of a UTF-16 code unit. */
const CHARACTER_BYTES_MAX = 3
const CACHE_CONTROL = 'no-cache, private'

type ListQuery = Query<'sort' | 'page' | 'per_page'>

/** @param basePath Prefix of the URLs in answers. */
export function configurationHandlers(store: ConfigurationStore, basePath: string) {
  const collection = `${basePath}/configurations/`
  const pages = new PageMemory()
  return { list, add, get, modify, remove }

  function list(request: Request): Reply | Promise<Reply> {
    const { query } = request
    const { revision } = store
    const remembered = isConditional(request) ? undefined : pages.find(query, revision)
    if (remembered !== undefined) return remembered
    const { sort, page } = parseListQuery(query)
    const headers: Record<string, string> = {
      'Cache-Control': CACHE_CONTROL,
      ETag: `"${listTag(store.id, revision)}"`,
      'X-Total-Count': String(store.count),
    }
    if (page !== undefined) {
      const target = `${collection}?${sort === undefined ? '' : `sort=${sort}&`}`
      headers.Link = linkHeader(target, page, store.count)
    }
    const etag = headers.ETag ?? ''
    checkIfMatch(request, etag)
    if (isUnchanged(request.headers['if-none-match'], etag)) return { status: 304, headers }
    if (sort !== undefined && !store.isOrdered(sort)) return store.order(sort).then(() => list(request))
    if (page !== undefined) {
      const records = store.list(page.page * page.perPage, page.perPage, sort)
      const bytes = longBytesOf(records)
      if (bytes !== undefined) return streamed(records, bytes, headers, jsonOf)
      const reply = envelope(records, headers)
      pages.add(query, revision, reply)
      return reply
    }
    const { count, jsonBytes } = store
    if (jsonBytes + count <= UNSTREAMED_BYTES_MAX) return envelope(store.list(0, count, sort), headers)
    const encode = jsonBytes <= KEPT_JSON_BYTES_MAX ? jsonOf : JSON.stringify
    const reply = streamed(store.freeze(sort), jsonBytes + count - 1, headers, encode)
    return { ...reply, keeps: { revision, records: count, jsonBytes } }
  }

  function get(request: Request, name: string): Reply {
    const record = store.find(name)
    if (record === undefined) throw asProblem(new UnknownNameError(name))
    const { etag } = record
    checkIfMatch(request, etag)
    return isUnchanged(request.headers['if-none-match'], etag)
      ? { status: 304, headers: { 'Cache-Control': CACHE_CONTROL, ETag: etag } }
      : only(record)
  }

  async function add(request: Request): Promise<Reply> {
    const draft = parseNewConfiguration(await readJsonObject(request))
    try {
      const added = await store.add(senderOf(request), draft, request)
      return only(added, { Location: collection + encodeURIComponent(added.name) })
    } catch (error) {
      return conflictOrThrow(error)
    }
  }

  async function modify(request: Request, name: string): Promise<Reply> {
    const patch = parseConfigurationPatch(await readJsonObject(request))
    try {
      const { after } = await store.modify(senderOf(request), name, patch, expectation(request), request)
      return only(after)
    } catch (error) {
      return conflictOrThrow(error)
    }
  }

  async function remove(request: Request, name: string): Promise<Reply> {
    try {
      await store.remove(senderOf(request), name, expectation(request), request)
    } catch (error) {
      throw asProblem(error)
    }
    return {
      status: 209,
      reason: 'Deleted',
      headers: { 'Cache-Control': CACHE_CONTROL, 'Content-Length': '0' },
    }
  }
}

function only(record: Configuration, headers?: Record<string, string>): Reply {
  const { json } = record
  return {
    status: 200,
    headers: { 'Content-Type': JSON_TYPE, 'Cache-Control': CACHE_CONTROL, ETag: record.etag, ...headers },
    body: OPEN + json + CLOSE,
    // Of the record alone: of the whole, the parts would have to be copied together first.
    bodyBytes: OPEN.length + Buffer.byteLength(json) + CLOSE.length,
  }
}

/** Sends these records, however slow the client is. @param bytes Of all of them with their separators. */
function streamed(
  records: Iterable<Configuration>,
  bytes: number,
  headers: Record<string, string>,
  encode: (record: Configuration) => string,
): Reply {
  const length = OPEN.length + bytes + CLOSE.length
  return {
    status: 200,
    headers: { 'Content-Type': JSON_TYPE, 'Content-Length': String(length), ...headers },
    body: piecesOf(listEnvelope, records, encode),
  }
}

/** Bytes with separators; undefined up to UNSTREAMED_BYTES_MAX. Counts characters first, which takes no time. */
function longBytesOf(records: readonly Configuration[]): number | undefined {
  let characters = records.length
  for (const { json } of records) characters += json.length
  if (characters * CHARACTER_BYTES_MAX <= UNSTREAMED_BYTES_MAX) return undefined
  let bytes = records.length - 1
  for (const { json } of records) bytes += Buffer.byteLength(json)
  return bytes <= UNSTREAMED_BYTES_MAX ? undefined : bytes
}

function jsonOf({ json }: Configuration): string {
  return json
}

function envelope(records: readonly Configuration[], headers: Record<string, string>, status = 200) {
  return { status, headers: { 'Content-Type': JSON_TYPE, ...headers }, body: bodyOf(records) }
}

/** One `join`: a concatenation of long strings would be copied again before it is sent. */
function bodyOf(records: readonly Configuration[]): string {
  const last = records.length - 1
  if (last === -1) return OPEN + CLOSE
  const pieces = records.map(({ json }) => json)
  pieces[0] = OPEN + pieces[0]
  pieces[last] += CLOSE
  return pieces.join(',')
}

/** @throws {Problem} 412; conditions apply to reads as to changes (RFC 9110 section 13.1.1). */
function checkIfMatch(request: Request, etag: string) {
  if (isExpected(request.headers['if-match'], etag)) return
  throw new Problem('stale_record', 'This is not what If-Match names; read it without that')
}

function isConditional({ headers }: Request): boolean {
  return headers['if-match'] !== undefined || headers['if-none-match'] !== undefined
}

function expectation({ headers }: Request): Expectation | undefined {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers
  if (ifMatch === undefined && ifNoneMatch === undefined) return undefined
  return ({ etag }) => isExpected(ifMatch, etag) && !isUnchanged(ifNoneMatch, etag)
}

function conflictOrThrow(error: unknown): Reply {
  if (error instanceof NameTakenError)
    return envelope([error.holder], { 'Cache-Control': CACHE_CONTROL }, 409)
  throw asProblem(error)
}

/** Turns a refusal of the store into its problem; returns any other error as it is. */
function asProblem(error: unknown): unknown {
  if (error instanceof UnknownNameError || error instanceof StaleRecordError)
    return new Problem(error.code, error.message)
  return error
}

/** @throws {InvalidInputError} naming every faulty parameter. */
function parseListQuery(text: string): { sort?: Sort; page?: Page } {
  const query: ListQuery = parseQuery(text, ['sort', 'page', 'per_page'])
  const { values, faults } = query
  const { sort } = values
  if (sort !== undefined && !isSort(sort)) {
    faults.push({
      field: 'sort',
      detail: `must be one of ${sortFields.join(', ')}, with "-" before it for falling order`,
    })
  }
  const page = parseCount(query, 'page', 0, Number.MAX_SAFE_INTEGER)
  const perPage = parseCount(query, 'per_page', 1, PAGE_RECORDS_MAX)
  if ((values.page === undefined) !== (values.per_page === undefined)) {
    const [field, other] = values.page === undefined ? ['page', 'per_page'] : ['per_page', 'page']
    faults.push({ field, detail: `must be given together with ${other}` })
  }
  checkQuery(query)
  return {
    ...(isSort(sort) ? { sort } : {}),
    ...(page !== undefined && perPage !== undefined ? { page: { page, perPage } } : {}),
  }
}

/** A decimal integer without sign or leading zero; undefined when absent, or when faulty, which adds a fault. */
function parseCount({ values, faults }: ListQuery, field: 'page' | 'per_page', min: number, max: number) {
  const text = values[field]
  if (text === undefined) return undefined
  const value = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  faults.push({ field, detail: `must be a plain decimal integer from ${min} to ${max}` })
  return undefined
}

function isSort(text: string | undefined): text is Sort {
  return text !== undefined && (sortFields as readonly string[]).includes(text.replace(/^-/, ''))
}
