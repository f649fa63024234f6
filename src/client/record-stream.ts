import { SERVED_RECORD_CHARACTERS_MAX } from '../limits.ts'
import { NoAnswerError } from './call.ts'
import type { Client } from './client.ts'
import { Lines } from './lines.ts'
import { OtherAnswerError } from './refused.ts'
import { parseServedRecords, type ServedRecord } from './served-record.ts'
import { UsualRecord } from './usual-record.ts'

/** How records become lines. */
export interface LineForm {
  /** Writes the line of a usual record. @returns Whether it does; otherwise the record is treated as any other. */
  usual(record: UsualRecord, lines: Lines): boolean
  /** The line of any other record; perhaps more or nothing, if lines are held back. */
  other(record: ServedRecord): string
}

/** Takes the records of a piece of a list. */
interface RecordTaker {
  /** @returns Whether it takes the usual record; otherwise it gets its text. */
  usual(record: UsualRecord): boolean
  text(text: string): void
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
 * @throws as `Client.open` does, also while the records are read; {OtherAnswerError} if the answer is not a list of records.
 */
export async function openList(client: Client, path: string, signal?: AbortSignal) {
  const { headers, body } = await client.open({ method: 'GET', path }, signal)
  return { tag: headers.etag, pieces: readRecords(body, client.endpoint.name) }
}

/** As `openList`, with a line for each record. Makes no text of a usual one, which takes a small part of the time. */
export async function openLines(client: Client, path: string, form: LineForm) {
  const { body } = await client.open({ method: 'GET', path })
  return readLines(body, client.endpoint.name, form)
}

/** The records of the body of a list. @param server Its name, for errors. */
export function readRecords(
  body: AsyncIterable<Uint8Array>,
  server: string,
): AsyncGenerator<readonly ServedRecord[]> {
  return readPieces(body, server, (read) => {
    const texts: string[] = []
    read({ usual: () => false, text: (text) => texts.push(text) })
    return texts.length === 0 ? undefined : parseServedRecords(texts)
  })
}

/** The same as lines, whole ones in each piece. A piece may be empty, and is good until the next one is read. */
export function readLines(
  body: AsyncIterable<Uint8Array>,
  server: string,
  form: LineForm,
): AsyncGenerator<Uint8Array> {
  const lines = new Lines()
  const taker: RecordTaker = {
    usual: (record) => form.usual(record, lines),
    text(text) {
      for (const record of parseServedRecords([text])) lines.text(form.other(record))
    },
  }
  return readPieces(body, server, (read) => {
    read(taker)
    return lines.take()
  })
}

/**
 * @param take Reads a piece of the body; may throw a SyntaxError. @returns Yields what `take` returns.
 */
async function* readPieces<Taken>(
  body: AsyncIterable<Uint8Array>,
  server: string,
  take: (read: (taker: RecordTaker) => void) => Taken | undefined,
): AsyncGenerator<Taken> {
  const scanner = new RecordScanner()
  try {
    for await (const bytes of body) {
      const taken = take((taker) => scanner.read(bytes, taker))
      if (taken !== undefined) yield taken
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

/** Finds the records in the bytes of a list, which comes in pieces. */
class RecordScanner {
  readonly #record = new UsualRecord()
  #depth = 0
  #isInString = false
  #isEscaped = false
  #isDone = false
  /** Text before the records; undefined once they begin. */
  #head: string | undefined = ''
  /** The beginning of a record that has not ended yet. */
  #begun: Buffer[] | undefined
  #keptBytes = 0

  get hasBegun(): boolean {
    return this.#head === undefined
  }

  get isComplete(): boolean {
    return this.#isDone
  }

  /** @param taker Is given the records that end in this piece. @throws {SyntaxError} */
  read(piece: Uint8Array, taker: RecordTaker): void {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length)
    let start = 0
    for (let at = 0; at < bytes.length; at++) {
      const code = bytes[at] ?? 0
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false
        else if (code === BACKSLASH) this.#isEscaped = true
        else if (code === QUOTE) this.#isInString = false
      } else if (code === QUOTE) this.#isInString = true
      else if (code === BRACE_OPEN || code === BRACKET_OPEN) {
        if (this.#isDone) throw new SyntaxError('something follows the list')
        if (this.#depth === LIST_DEPTH && this.#record.find(bytes, at)) {
          const { end } = this.#record
          if (!taker.usual(this.#record)) taker.text(bytes.toString('utf8', at, end))
          at = end - 1
          continue
        }
        this.#depth += 1
        if (this.#head !== undefined && this.#depth === LIST_DEPTH) {
          if ((this.#head + bytes.toString('utf8', 0, at + 1)).replace(/\s+/g, '') !== LIST_HEAD)
            throw new SyntaxError('it is no list of records')
          this.#head = undefined
        }
        if (this.#depth === RECORD_DEPTH && this.#begun === undefined) {
          start = at
          this.#begun = []
          this.#keptBytes = 0
        }
      } else if (code === BRACE_CLOSE || code === BRACKET_CLOSE) {
        if (this.#depth === RECORD_DEPTH) {
          taker.text(Buffer.concat([...(this.#begun ?? []), bytes.subarray(start, at + 1)]).toString())
          this.#begun = undefined
        }
        this.#depth -= 1
        if (this.#depth > 0) continue
        if (this.#head !== undefined) throw new SyntaxError('it is no list of records')
        this.#isDone = true
      } else if (this.#depth === 0 && code > SPACE) throw new SyntaxError('it is no object')
    }
    this.#keep(bytes, start)
  }

  /** Keeps what goes on in the next piece. @throws {SyntaxError} */
  #keep(bytes: Buffer, start: number): void {
    if (this.#head !== undefined) this.#head += bytes.toString()
    else if (this.#begun !== undefined) this.#begun.push(Buffer.from(bytes.subarray(start)))
    else return
    this.#keptBytes += bytes.length - start
    if (this.#keptBytes > SERVED_RECORD_CHARACTERS_MAX) throw new SyntaxError('a record is too long')
  }
}

const SPACE = 0x20
const QUOTE = 0x22
const BRACKET_OPEN = 0x5b
const BACKSLASH = 0x5c
const BRACKET_CLOSE = 0x5d
const BRACE_OPEN = 0x7b
const BRACE_CLOSE = 0x7d
