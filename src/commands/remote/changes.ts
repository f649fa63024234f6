import { NoAnswerError } from '../../client/call.ts'
import type { Client } from '../../client/client.ts'
import { recordPath } from '../../client/endpoint.ts'
import { OtherAnswerError, RefusedError } from '../../client/refused.ts'
import type { Screen } from '../../command-line/command.ts'
import { escapeHidden } from '../../text.ts'
import { explainFaults } from './record-fields.ts'

const NOT_KNOWN = 'whether the change was made is not known, so look before you repeat it'

/** The status of `DELETE`. */
const DELETED = 209

export const JSON_BODY = { 'Content-Type': 'application/json' }

/** Whether a change may have been made all the same: no answer came, or one that does not come from a connbook. */
export function mayBeMade(error: unknown): boolean {
  if (error instanceof NoAnswerError || error instanceof OtherAnswerError) return true
  if (!(error instanceof RefusedError)) return false
  const { problem, status } = error
  return problem === 'outcome_unknown' || (problem === undefined && status >= 500)
}

/** The body of a call. */
export function bodyOf(value: object): readonly Uint8Array[] {
  return [Buffer.from(JSON.stringify(value))]
}

/** Says of a change without an answer that it may have been made. */
export async function withOutcome<Result>(call: Promise<Result>): Promise<Result> {
  return call.catch((error: unknown) => {
    const message = `${error instanceof Error ? error.message : error}; ${NOT_KNOWN}`
    if (error instanceof NoAnswerError) throw new NoAnswerError(message, { cause: error })
    if (error instanceof RefusedError && error.problem === undefined && mayBeMade(error))
      throw new RefusedError(message, error)
    throw error
  })
}

/**
 * Makes a change, and then names it and the server on standard error.
 *
 * @param describe Puts what `call` resolves to into words, without a full stop: `Added "web1"`.
 * @param typed As in `explainFaults`.
 * @param more Ends the line, behind the server.
 */
export async function makeChange<Result>(
  client: Client,
  screen: Screen,
  call: Promise<Result>,
  describe: (result: Result) => string,
  typed: Readonly<Record<string, string>> = {},
  more: (result: Result) => string = () => '',
): Promise<void> {
  const result = await withOutcome(explainFaults(call, typed))
  screen.write(`${describe(result)} ${client.endpoint.where}${more(result)}\n`)
}

/**
 * Deletes one record.
 *
 * @param headers Conditions.
 * @throws as `Client.ask` does; {OtherAnswerError} for any other answer, with which nothing is deleted.
 */
export async function deleteRecord(
  client: Client,
  name: string,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const { status } = await client.ask({ method: 'DELETE', path: recordPath(name), headers })
  if (status === DELETED) return
  throw new OtherAnswerError(
    `${client.endpoint.name} does not say that it has deleted ${quoted(name)}; is it a connbook?`,
  )
}

/** A name in a message. */
export function quoted(name: string): string {
  return `"${escapeHidden(name)}"`
}
