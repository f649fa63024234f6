/** Reads what etcd's JSON gateway answers: zero members are left out, 64-bit integers are strings. */
import { isObject, parseJson } from '../json.ts'
import type {
  KeyValue,
  OperationAnswer,
  RangeAnswer,
  Refusal,
  TransactionAnswer,
  WatchEvent,
  WatchMessage,
} from './messages.ts'

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
export type WatchFrame =
  | WatchMessage
  /** More of the same revisions follow. */
  | { readonly kind: 'fragment'; readonly events: readonly WatchEvent[] }
  /** It is over; a canceled watch keeps its stream open. */
  | { readonly kind: 'refused'; readonly refusal: Refusal }

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
export function errorIn(input: Record<string, unknown>): Refusal | undefined {
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

// Status of gRPC: another member may be able to answer. https://grpc.io/docs/guides/status-codes/
const UNAVAILABLE = 14
