import { NewerFormError } from '../errors.ts'
import { isObject, parseJson } from '../json.ts'
import { parseStoredRecord } from '../store/change.ts'
import type { Configuration } from '../store/configuration.ts'
import { fieldNames, recordFields } from '../store/fields.ts'
import type { Client } from './client.ts'
import { recordPath } from './endpoint.ts'
import type { Call } from './messages.ts'
import { OtherAnswerError, RefusedError } from './refused.ts'

/** A record as a server sent it. */
export interface ServedRecord {
  /** Its JSON text, on one line. */
  readonly json: string
  readonly record: Configuration
}

/** @param texts Records as JSON. @throws {SyntaxError} if one is not a record. */
export function parseServedRecords(texts: readonly string[]): ServedRecord[] {
  // All at once, which takes half the time.
  const values = JSON.parse(`[${texts.join(',')}]`) as unknown[]
  return texts.map((text, i) => {
    const value = values[i]
    // Records are shown on a line each.
    const json = text.includes('\n') || text.includes('\r') ? JSON.stringify(value) : text
    return { json, record: parseServedRecord(value) }
  })
}

/** Ignores members that a newer connbook adds. @throws {SyntaxError} if it is not a record. */
export function parseServedRecord(input: unknown): Configuration {
  try {
    const record = parseStoredRecord(input)
    if (record !== undefined) return record
  } catch (error) {
    if (error instanceof NewerFormError && isObject(input)) return parseServedRecord(knownMembersOf(input))
    throw error
  }
  throw new SyntaxError('it is no record')
}

function knownMembersOf({ id, labels, ...others }: Record<string, unknown>): Record<string, unknown> {
  const known: Record<string, unknown> = labels === undefined ? { id } : { id, labels }
  for (const name of fieldNames) known[name] = others[name]
  return known
}

/** The one record of an answer. */
export interface AnsweredRecord {
  readonly status: number
  readonly record: Configuration
  /** On one line, with what a newer connbook says of a record, too. */
  readonly json: string
  /** The entity tag, without quotes; undefined if the answer has none. */
  readonly tag: string | undefined
}

/** Reads the record with a name. Throws as `askForRecord` does. */
export function readRecord(client: Client, name: string): Promise<AnsweredRecord> {
  return askForRecord(client, { method: 'GET', path: recordPath(name) })
}

/**
 * Reads the record with a name, as far as there is one: undefined for a name that no record has.
 *
 * @throws as `readRecord` does.
 */
export async function findRecord(client: Client, name: string): Promise<Configuration | undefined> {
  if (recordFields.find((field) => field.name === 'name')?.check(name) !== undefined) return undefined
  try {
    const { record } = await readRecord(client, name)
    return record.name === name ? record : undefined
  } catch (error) {
    if (error instanceof RefusedError && error.problem === 'unknown_name') return undefined
    throw error
  }
}

/**
 * Makes a call that is answered with one record.
 *
 * @throws as `Client.open` does; {OtherAnswerError} if the answer is not a record.
 */
export async function askForRecord(client: Client, call: Call): Promise<AnsweredRecord> {
  const { status, headers, text } = await client.ask(call)
  const answered = parseJson(text)
  const [only] = isObject(answered) && Array.isArray(answered.configurations) ? answered.configurations : []
  try {
    const tag = /^"(.*)"$/.exec(headers.etag ?? '')?.[1]
    return { status, record: parseServedRecord(only), json: JSON.stringify(only), tag }
  } catch (cause) {
    throw new OtherAnswerError(`What ${client.endpoint.name} answers is no record; is it a connbook?`, {
      cause,
    })
  }
}
