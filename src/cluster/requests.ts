/**
 * Requests to etcd's JSON gateway, as text (etcd 3.4 and 3.5, `rpc.proto`). etcd ignores members that it does not know, and
 * a comparison with a key alone means "does not exist": so none is written by hand elsewhere.
 *
 * Keys and values are sent as UTF-8 in base64, 64-bit integers as strings.
 */
import type { Compare, Operation, RangeQuery, Transaction } from './messages.ts'

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
export function put(key: string, value: string, lease?: string): Operation {
  const ends = lease === undefined ? '' : `,"lease":"${lease}"`
  return `{"request_put":{"key":"${base64(key)}","value":"${base64(value)}"${ends}}}`
}

/** Removes the key, or all up to but without `end`. */
export function remove(key: string, end?: string): Operation {
  return `{"request_delete_range":{"key":"${base64(key)}"${rangeEnd(end)}}}`
}

export function read(query: RangeQuery): Operation {
  return `{"request_range":${rangeBody(query)}}`
}

/** A transaction within one: its conditions are compared with the state before the outer one. */
export function nested(transaction: Transaction): Operation {
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
