import { recordBefore } from '../../audit/past-records.ts'
import type { Client } from '../../client/client.ts'
import { listPath, queryOf } from '../../client/endpoint.ts'
import { openList } from '../../client/record-stream.ts'
import { OtherAnswerError, RefusedError } from '../../client/refused.ts'
import { type AnsweredRecord, parseServedRecord, readRecord } from '../../client/served-record.ts'
import { ConnbookError } from '../../errors.ts'
import { isObject } from '../../json.ts'
import { HISTORY_ENTRIES_MAX } from '../../limits.ts'
import type { Configuration } from '../../store/configuration.ts'
import { counted } from '../../text.ts'
import { quoted } from './changes.ts'

/** To which moment a record goes back: so many changes, or to a time (RFC 3339 in UTC). */
export type PastPoint = { readonly steps: number } | { readonly time: string }

/** A record as it is now and as it was; undefined where it is not there. */
export interface Past {
  readonly present: AnsweredRecord | undefined
  readonly then: Configuration | undefined
}

/** The history of a record does not go back as far as it was asked to. */
export class NotKnownError extends ConnbookError {
  readonly code = 'history_not_known'
}

interface RecordEntry {
  readonly time: string
  readonly event: string
  readonly id: number
  readonly changed?: unknown
  readonly record?: unknown
}

/**
 * Undoes the changes of a record that come after a moment, as far as its history lists them.
 *
 * @param name Names the present holder, else the last one.
 * @throws {RefusedError} for a name that no record is known to have had. {NotKnownError} {OtherAnswerError} Also what
 *   `Client.ask` throws.
 */
export async function findPast(client: Client, name: string, point: PastPoint): Promise<Past> {
  const holder = await readIfThere(client, name)
  const path = `/v1/history/${encodeURIComponent(name)}${queryOf({ limit: HISTORY_ENTRIES_MAX })}`
  const answered = await client.askJson({ method: 'GET', path })
  const { history, since } = isObject(answered) ? answered : {}
  if (!Array.isArray(history) || !history.every(isEntry) || typeof since !== 'string')
    throw new OtherAnswerError(`${client.endpoint.name} answers no history; is it an older connbook?`)
  const undone = checkKnown(name, history, since, point)
  const present = holder ?? (await findById(client, history[0]?.id))
  let then = present?.record
  for (const entry of undone) {
    const before = stateBefore(entry, then)
    if (before === 'unreadable') throw notKnown(name, since)
    then = before
  }
  if (present !== undefined && then === undefined && 'time' in point)
    await checkNeverDeleted(client, name, present.record.id, point.time)
  return { present, then }
}

/**
 * A record that was deleted and put back has a new id, with which its history begins anew. To delete it because it was not
 * there then would destroy it.
 *
 * @throws {NotKnownError} if another record had the name after the time, and was deleted.
 */
async function checkNeverDeleted(client: Client, name: string, id: number, time: string): Promise<void> {
  const query = queryOf({ name, since: time, limit: HISTORY_ENTRIES_MAX })
  const answered = await client.askJson({ method: 'GET', path: `/v1/history${query}` })
  const { history } = isObject(answered) ? answered : {}
  if (!Array.isArray(history)) throw new OtherAnswerError(`${client.endpoint.name} answers no history`)
  const isAnother = (entry: unknown) =>
    isEntry(entry) && entry.event === 'configuration_deleted' && entry.id !== id
  if (!history.some(isAnother)) return
  throw new NotKnownError(
    `Cannot put ${quoted(name)} back so far: it was deleted since, and the record that has the name now is another one; nothing has changed; see connbook history, or delete it with connbook rm`,
  )
}

/** The changes to undo, newest first. @throws {NotKnownError} if the history does not go back so far. */
function checkKnown(
  name: string,
  history: readonly RecordEntry[],
  since: string,
  point: PastPoint,
): readonly RecordEntry[] {
  const undone =
    'steps' in point ? history.slice(0, point.steps) : history.filter(({ time }) => time > point.time)
  const oldest = undone.at(-1)
  // Before an addition there is nothing.
  const isWhole = oldest?.event === 'configuration_added'
  if ('steps' in point) {
    if (undone.length < point.steps) throw notKnown(name, since, undone.length)
  } else if (point.time < since && !isWhole) throw notKnown(name, since)
  // Between older changes, others may be missing.
  if (oldest !== undefined && oldest.time < since) throw notKnown(name, since)
  return undone
}

function notKnown(name: string, since: string, steps?: number): NotKnownError {
  const known = steps === undefined ? 'is known' : `has ${counted(steps, 'change')}, and is known`
  return new NotKnownError(
    `Cannot put ${quoted(name)} back so far: its history ${known} only since ${since}; nothing has changed`,
  )
}

function stateBefore(
  { event, changed, record }: RecordEntry,
  after: Configuration | undefined,
): Configuration | undefined | 'unreadable' {
  if (event === 'configuration_added') return undefined
  if (event === 'configuration_deleted') return parseServedRecord(record)
  const before = after !== undefined && isObject(changed) ? recordBefore(after, changed) : undefined
  return before ?? 'unreadable'
}

async function readIfThere(client: Client, name: string): Promise<AnsweredRecord | undefined> {
  try {
    return await readRecord(client, name)
  } catch (error) {
    if (error instanceof RefusedError && error.problem === 'unknown_name') return undefined
    throw error
  }
}

/** The record with an id, which may have another name by now. */
async function findById(client: Client, id: number | undefined): Promise<AnsweredRecord | undefined> {
  if (id === undefined) return undefined
  const { pieces } = await openList(client, listPath({ id }))
  for await (const [found] of pieces) if (found !== undefined) return readIfThere(client, found.record.name)
  return undefined
}

function isEntry(input: unknown): input is RecordEntry {
  return (
    isObject(input) &&
    typeof input.time === 'string' &&
    typeof input.event === 'string' &&
    typeof input.id === 'number'
  )
}
