import { piecesOf } from '../exchange/export.ts'
import { listEnvelope } from '../exchange/json-format.ts'
import { isExpected } from '../http/header-fields.ts'
import { JSON_TYPE, type Reply, type Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { UNSTREAMED_BYTES_MAX } from '../limits.ts'
import type { Configuration } from '../store/configuration.ts'
import type { PageReply } from './page-memory.ts'

/** `Cache-Control` of every answer with records. */
export const CACHE_CONTROL = 'no-cache, private'

const { start: OPEN, end: CLOSE } = listEnvelope
/** In UTF-8, of a UTF-16 code unit. */
const CHARACTER_BYTES_MAX = 3

/**
 * Sends records, however slow the client is.
 *
 * @param bytes The length of all of them with their separators; undefined sends them in chunks.
 * @param encode Returns undefined for a record to leave out.
 */
export function streamed(
  records: Iterable<Configuration>,
  bytes: number | undefined,
  headers: Reply['headers'],
  encode: (record: Configuration) => string | undefined,
): Reply {
  const length = bytes === undefined ? {} : { 'Content-Length': String(OPEN.length + bytes + CLOSE.length) }
  return {
    status: 200,
    headers: { 'Content-Type': JSON_TYPE, ...length, ...headers },
    body: piecesOf(listEnvelope, records, encode),
  }
}

/** Bytes with separators; undefined up to UNSTREAMED_BYTES_MAX. Counts characters first, which takes no time. */
export function longBytesOf(records: readonly Configuration[]): number | undefined {
  let characters = records.length
  for (const { json } of records) characters += json.length
  if (characters * CHARACTER_BYTES_MAX <= UNSTREAMED_BYTES_MAX) return undefined
  let bytes = records.length - 1
  for (const { json } of records) bytes += Buffer.byteLength(json)
  return bytes <= UNSTREAMED_BYTES_MAX ? undefined : bytes
}

export function jsonOf({ json }: Configuration): string {
  return json
}

export function jsonOnceOf({ jsonOnce }: Configuration): string {
  return jsonOnce
}

export function envelope(
  records: readonly Configuration[],
  headers: Reply['headers'],
  status = 200,
): PageReply {
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
export function checkIfMatch(request: Request, etag: string): void {
  if (isExpected(request.headers['if-match'], etag)) return
  throw new Problem('stale_record', 'This is not what If-Match names; read it without that')
}
