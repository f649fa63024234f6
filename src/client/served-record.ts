import { NewerFormError } from '../errors.ts'
import { isObject } from '../json.ts'
import { parseStoredRecord } from '../store/change.ts'
import type { Configuration } from '../store/configuration.ts'
import { fieldNames } from '../store/fields.ts'

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
