import { isObject, parseJson } from '../json.ts'
import type { Configuration } from '../store/configuration.ts'
import type { Call } from './call.ts'
import type { Client } from './client.ts'
import { recordPath } from './paths.ts'
import { OtherAnswerError } from './refused.ts'
import { parseServedRecord } from './served-record.ts'

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
