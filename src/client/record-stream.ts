import { NewerFormError } from '../errors.ts'
import { isObject } from '../json.ts'
import { SERVED_RECORD_CHARACTERS_MAX } from '../limits.ts'
import { parseStoredRecord } from '../store/change.ts'
import { Configuration } from '../store/configuration.ts'
import { fieldNames } from '../store/fields.ts'
import { NoAnswerError } from './call.ts'
import type { Client } from './client.ts'
import { OtherAnswerError } from './refused.ts'

/** A record as a server sent it. */
export interface ServedRecord {
  /** Its JSON text, on one line. */
  readonly json: string
  readonly record: Configuration
}

/** What comes before the records, without white space. */
const LIST_HEAD = '{"configurations":['
const LIST_DEPTH = 2
const RECORD_DEPTH = 3

/**
 * Asks for a list, and gives its records while they come; a list of any length takes little memory.
 *
 * @param path With its query. @param signal Ends it.
 * @returns The list's tag, and pieces of the list in its order.
 * @throws as `Client.open` does, also while the records are read; {OtherAnswerError} if they are none.
 */
export async function openList(client: Client, path: string, signal?: AbortSignal) {
  const { headers, body } = await client.open({ method: 'GET', path }, signal)
  return { tag: headers.etag, pieces: readRecords(body, client.place.name) }
}

/** The records of the body of a list. @param server Its name, for errors. */
export async function* readRecords(
  body: AsyncIterable<Uint8Array>,
  server: string,
): AsyncGenerator<readonly ServedRecord[]> {
  const scanner = new RecordScanner()
  const decoder = new TextDecoder()
  try {
    for await (const bytes of body) {
      const found = scanner.read(decoder.decode(bytes, { stream: true }))
      if (found.length > 0) yield parseServed(found)
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new OtherAnswerError(`What ${server} answers is no list of records; is it a connbook?`, {
      cause: error,
    })
  }
  if (!scanner.hasBegun)
    throw new OtherAnswerError(`What ${server} answers is no list of records; is it a connbook?`)
  if (!scanner.isComplete)
    throw new NoAnswerError(`The list of ${server} is not complete: the answer ended too early`)
}

/** Parses the texts among what was found. @throws {SyntaxError} if one is no record. */
function parseServed(found: readonly (string | ServedRecord)[]): ServedRecord[] {
  const texts = found.filter((each) => typeof each === 'string')
  // All at once, which takes half the time.
  const values = JSON.parse(`[${texts.join(',')}]`) as unknown[]
  let next = 0
  return found.map((each) => {
    if (typeof each !== 'string') return each
    const value = values[next++]
    // Records are shown on a line each.
    const json = each.includes('\n') || each.includes('\r') ? JSON.stringify(value) : each
    return { json, record: parseServedRecord(value) }
  })
}

/** Also takes what a newer connbook says of a record beyond its members. @throws {SyntaxError} if it is none. */
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

/** Finds the texts of the records in the text of a list, which comes in pieces. */
class RecordScanner {
  #depth = 0
  #isInString = false
  #isEscaped = false
  #isDone = false
  /** Text before the records; undefined once they begin. */
  #head: string | undefined = ''
  /** The beginning of a record that has not ended yet. */
  #begun: string | undefined

  get hasBegun(): boolean {
    return this.#head === undefined
  }

  get isComplete(): boolean {
    return this.#isDone
  }

  /** @returns Texts that are still to be parsed, and usual records. @throws {SyntaxError} */
  read(text: string): (string | ServedRecord)[] {
    const found: (string | ServedRecord)[] = []
    let start = 0
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false
        else if (code === BACKSLASH) this.#isEscaped = true
        else if (code === QUOTE) this.#isInString = false
      } else if (code === QUOTE) this.#isInString = true
      else if (code === BRACE_OPEN || code === BRACKET_OPEN) {
        if (this.#isDone) throw new SyntaxError('something follows the list')
        const usual = this.#depth === LIST_DEPTH ? usualRecordAt(text, at) : undefined
        if (usual !== undefined) {
          found.push(usual)
          at += usual.json.length - 1
          continue
        }
        this.#depth += 1
        if (this.#head !== undefined && this.#depth === LIST_DEPTH) {
          if ((this.#head + text.slice(0, at + 1)).replace(/\s+/g, '') !== LIST_HEAD)
            throw new SyntaxError('it is no list of records')
          this.#head = undefined
        }
        if (this.#depth === RECORD_DEPTH && this.#begun === undefined) {
          start = at
          this.#begun = ''
        }
      } else if (code === BRACE_CLOSE || code === BRACKET_CLOSE) {
        if (this.#depth === RECORD_DEPTH) {
          found.push(this.#begun + text.slice(start, at + 1))
          this.#begun = undefined
          start = at + 1
        }
        this.#depth -= 1
        if (this.#depth > 0) continue
        if (this.#head !== undefined) throw new SyntaxError('it is no list of records')
        this.#isDone = true
      } else if (this.#depth === 0 && code > SPACE) throw new SyntaxError('it is no object')
    }
    if (this.#head !== undefined) this.#head += text
    if (this.#begun !== undefined) this.#begun += text.slice(start)
    const kept = (this.#head ?? this.#begun ?? '').length
    if (kept > SERVED_RECORD_CHARACTERS_MAX) throw new SyntaxError('a record is too long')
    return found
  }
}

/** A record as connbook writes it, without labels, and with nothing that JSON escapes. */
const USUAL_RECORD =
  /\{"id":([1-9]\d{0,14}),"name":"([^"\\\p{Cc}]*)","hostname":"([^"\\\p{Cc}]*)","port":([1-9]\d{0,4}),"username":"([^"\\\p{Cc}]*)"\}/uy

/** Nearly all records are such, and one look takes a third of the time of finding its end and parsing it. */
function usualRecordAt(text: string, at: number): ServedRecord | undefined {
  USUAL_RECORD.lastIndex = at
  const [json, id, name, hostname, port, username] = USUAL_RECORD.exec(text) ?? []
  if (json === undefined || name === undefined || hostname === undefined || username === undefined)
    return undefined
  return { json, record: new Configuration(Number(id), { name, hostname, port: Number(port), username }) }
}

const SPACE = 0x20
const QUOTE = 0x22
const BRACKET_OPEN = 0x5b
const BACKSLASH = 0x5c
const BRACKET_CLOSE = 0x5d
const BRACE_OPEN = 0x7b
const BRACE_CLOSE = 0x7d
