import { isObject, parseJson } from '../json.ts'

// Status of gRPC: another member may be able to answer. https://grpc.io/docs/guides/status-codes/
const UNAVAILABLE = 14

/** A condition of a transaction, as JSON. */
export type Compare = string & { readonly is?: 'compare' }
/** What a transaction does, as JSON. */
export type EtcdOperation = string & { readonly is?: 'operation' }

export interface RangeQuery {
  readonly key: string
  /** For all keys from `key` up to but without it. */
  readonly end?: string
  readonly limit?: number
  /** The state at this revision; by default the newest. */
  readonly revision?: number
  /** Answered by one member alone, perhaps from an older state. */
  readonly serializable?: boolean
  readonly keysOnly?: boolean
  readonly countOnly?: boolean
  /** Only the key that was changed last. */
  readonly newestOnly?: boolean
}

export interface Transaction {
  /** All must hold for `success` to be done, and otherwise `failure`. */
  readonly compare: readonly Compare[]
  readonly success: readonly EtcdOperation[]
  readonly failure: readonly EtcdOperation[]
}

export interface KeyValue {
  readonly key: string
  readonly value: string
  readonly createRevision: number
  readonly modRevision: number
  /** Number of changes since it was created. */
  readonly version: number
  readonly lease: string | undefined
}

export interface RangeAnswer {
  /** Revision of the newest state that the member had; within a transaction, of that after the operations before it. */
  readonly revision: number
  readonly kvs: readonly KeyValue[]
  readonly more: boolean
  readonly count: number
}

export interface TransactionAnswer {
  /** Revision of the state after it; 0 for one within another. */
  readonly revision: number
  readonly succeeded: boolean
  /** One for each operation. */
  readonly answers: readonly OperationAnswer[]
}

export type OperationAnswer =
  | { readonly kind: 'put' }
  | { readonly kind: 'delete'; readonly deleted: number }
  | { readonly kind: 'range'; readonly range: RangeAnswer }
  | { readonly kind: 'transaction'; readonly transaction: TransactionAnswer }

export type WatchMessage =
  /** The watch has begun. */
  | { readonly kind: 'created'; readonly revision: number }
  /** All events of one or more revisions. */
  | { readonly kind: 'events'; readonly revision: number; readonly events: readonly WatchEvent[] }
  /** The revisions asked for are gone. */
  | { readonly kind: 'compacted'; readonly compactRevision: number }

export type WatchEvent =
  | { readonly kind: 'put'; readonly kv: KeyValue; readonly previous: KeyValue | undefined }
  | {
      readonly kind: 'delete'
      readonly key: string
      readonly modRevision: number
      readonly previous: KeyValue | undefined
    }

/** What etcd says instead of an answer. */
export interface EtcdRefusal {
  readonly message: string
  /** Status code of gRPC; 0 without one. */
  readonly code: number
}

/** The key was changed last at this revision; 0 if it does not exist. */
export function modIs(key: string, revision: number): Compare {
  return `{"target":"MOD","result":"EQUAL","key":"${base64(key)}","mod_revision":"${revision}"}`
}

/** No key from `key` up to but without `end` was changed at this revision or later. */
export function modBelow(key: string, end: string, revision: number): Compare {
  return `{"target":"MOD","result":"LESS","key":"${base64(key)}","range_end":"${base64(end)}","mod_revision":"${revision}"}`
}

/** The key does not exist. All other members are zero, so they can be left out, which saves etcd a tenth of an add. */
export function isAbsent(key: string): Compare {
  return `{"key":"${base64(key)}"}`
}

/** Holds if no key exists from `key` up to but without `end`. */
export function noneIn(key: string, end: string): Compare {
  return `{"target":"VERSION","result":"EQUAL","key":"${base64(key)}","range_end":"${base64(end)}","version":"0"}`
}

/** The key exists with this value. */
export function valueIs(key: string, value: string): Compare {
  return `{"target":"VALUE","result":"EQUAL","key":"${base64(key)}","value":"${base64(value)}"}`
}

/** @param lease Ends the key with it. */
export function put(key: string, value: string, lease?: string): EtcdOperation {
  const ends = lease === undefined ? '' : `,"lease":"${lease}"`
  return `{"request_put":{"key":"${base64(key)}","value":"${base64(value)}"${ends}}}`
}

/** Removes the key, or all up to but without `end`. */
export function remove(key: string, end?: string): EtcdOperation {
  return `{"request_delete_range":{"key":"${base64(key)}"${rangeEnd(end)}}}`
}

export function read(query: RangeQuery): EtcdOperation {
  return `{"request_range":${rangeBody(query)}}`
}

/** A transaction within one: its conditions are compared with the state before the outer one. */
export function nested(transaction: Transaction): EtcdOperation {
  return `{"request_txn":${transactionBody(transaction)}}`
}

export function transactionBody({ compare, success, failure }: Transaction): string {
  return `{"compare":[${compare.join()}],"success":[${success.join()}],"failure":[${failure.join()}]}`
}

export function rangeBody(query: RangeQuery): string {
  const { key, end, limit, revision, serializable, keysOnly, countOnly, newestOnly } = query
  let text = `{"key":"${base64(key)}"${rangeEnd(end)}`
  if (limit !== undefined) text += `,"limit":"${limit}"`
  if (revision !== undefined) text += `,"revision":"${revision}"`
  if (serializable) text += ',"serializable":true'
  if (keysOnly) text += ',"keys_only":true'
  if (countOnly) text += ',"count_only":true'
  if (newestOnly) text += ',"limit":"1","sort_target":"MOD","sort_order":"DESCEND"'
  return `${text}}`
}

export function leaseBody(ttlSeconds: number): string {
  return `{"TTL":"${ttlSeconds}"}`
}

export function authenticateBody(name: string, password: string): string {
  return JSON.stringify({ name, password })
}

/** @param withPrevious Whether each event has what was before it. */
export function watchBody(key: string, end: string, fromRevision: number, withPrevious: boolean): string {
  const previous = withPrevious ? ',"prev_kv":true' : ''
  return `{"create_request":{"key":"${base64(key)}","range_end":"${base64(end)}","start_revision":"${fromRevision}","fragment":true${previous}}}`
}

/** The end of the range of all keys that begin with a text. */
export function endOfPrefix(prefix: string): string {
  const last = prefix.length - 1
  return prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1)
}

function rangeEnd(end: string | undefined): string {
  return end === undefined ? '' : `,"range_end":"${base64(end)}"`
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** @throws {SyntaxError} if the text is not an object as JSON. Its message has nothing of the text, which may be secret. */
export function parseAnswer(text: string): Record<string, unknown> {
  const parsed = parseJson(text)
  if (!isObject(parsed)) throw new SyntaxError('the answer is not a JSON object')
  return parsed
}

export function readRangeAnswer(input: Record<string, unknown>): RangeAnswer {
  return {
    revision: revisionIn(input),
    kvs: listIn(input.kvs).map(readKeyValue),
    more: input.more === true,
    count: integerOf(input.count),
  }
}

export function readTransactionAnswer(input: Record<string, unknown>): TransactionAnswer {
  return {
    revision: revisionIn(input),
    succeeded: input.succeeded === true,
    answers: listIn(input.responses).map(readOperationAnswer),
  }
}

/** @throws {SyntaxError} without an id. */
export function readLeaseId(input: Record<string, unknown>): string {
  if (typeof input.ID !== 'string') throw new SyntaxError('the answer has no lease id')
  return input.ID
}

/** @throws {SyntaxError} without a token. */
export function readToken(input: Record<string, unknown>): string {
  if (typeof input.token !== 'string') throw new SyntaxError('the answer has no token')
  return input.token
}

/** What one message of a watch says. */
type WatchFrame =
  | WatchMessage
  /** More of the same revisions follow. */
  | { readonly kind: 'fragment'; readonly events: readonly WatchEvent[] }
  /** It is over; a canceled watch keeps its stream open. */
  | { readonly kind: 'refused'; readonly refusal: EtcdRefusal }

export function readWatchFrame(input: Record<string, unknown>): WatchFrame {
  const { result, error } = input
  if (error !== undefined || !isObject(result)) {
    const refusal = errorIn(input) ?? { message: 'a message without result', code: 0 }
    return { kind: 'refused', refusal }
  }
  const compactRevision = integerOf(result.compact_revision)
  if (compactRevision > 0) return { kind: 'compacted', compactRevision }
  if (result.canceled === true) {
    const message = `the watch was canceled: ${textOf(result.cancel_reason)}`
    return { kind: 'refused', refusal: { message, code: UNAVAILABLE } }
  }
  const revision = revisionIn(result)
  if (result.created === true) return { kind: 'created', revision }
  const events = listIn(result.events).map(readEvent)
  return result.fragment === true ? { kind: 'fragment', events } : { kind: 'events', revision, events }
}

/** An error, in either shape; undefined for any other message. */
export function errorIn(input: Record<string, unknown>): EtcdRefusal | undefined {
  const { error, message } = input
  if (isObject(error)) return { message: textOf(error.message), code: codeIn(error) }
  if (typeof error !== 'string' && typeof message !== 'string') return undefined
  return { message: textOf(message ?? error), code: codeIn(input) }
}

function readEvent(event: Record<string, unknown>): WatchEvent {
  const kv = readKeyValue(objectOf(event.kv))
  const previous = isObject(event.prev_kv) ? readKeyValue(event.prev_kv) : undefined
  if (event.type !== 'DELETE') return { kind: 'put', kv, previous }
  return { kind: 'delete', key: kv.key, modRevision: kv.modRevision, previous }
}

function readOperationAnswer(answer: Record<string, unknown>): OperationAnswer {
  const { response_range: range, response_delete_range: removed, response_txn: transaction } = answer
  if (isObject(range)) return { kind: 'range', range: readRangeAnswer(range) }
  if (isObject(removed)) return { kind: 'delete', deleted: integerOf(removed.deleted) }
  if (isObject(transaction)) return { kind: 'transaction', transaction: readTransactionAnswer(transaction) }
  return { kind: 'put' }
}

function readKeyValue(kv: Record<string, unknown>): KeyValue {
  return {
    key: fromBase64(kv.key),
    value: fromBase64(kv.value),
    createRevision: integerOf(kv.create_revision),
    modRevision: integerOf(kv.mod_revision),
    version: integerOf(kv.version),
    lease: typeof kv.lease === 'string' && kv.lease !== '0' ? kv.lease : undefined,
  }
}

function revisionIn({ header }: Record<string, unknown>): number {
  return isObject(header) ? integerOf(header.revision) : 0
}

function codeIn(error: Record<string, unknown>): number {
  return integerOf(error.grpc_code ?? error.code)
}

function listIn(input: unknown): Record<string, unknown>[] {
  return Array.isArray(input) ? input.map(objectOf) : []
}

function objectOf(input: unknown): Record<string, unknown> {
  return isObject(input) ? input : {}
}

function textOf(input: unknown): string {
  return typeof input === 'string' ? input : ''
}

/** 0 for a member that is left out. @throws {SyntaxError} above 2^53, which no revision reaches. */
function integerOf(input: unknown): number {
  const value = input === undefined ? 0 : Number(input)
  if (!Number.isSafeInteger(value)) throw new SyntaxError('an integer of the answer is none')
  return value
}

function fromBase64(input: unknown): string {
  return typeof input === 'string' ? Buffer.from(input, 'base64').toString() : ''
}
