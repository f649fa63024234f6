import { LABEL_KEY_CHARACTERS_MAX, SERVED_RECORD_CHARACTERS_MAX } from '../limits.ts'
import { Configuration } from '../store/configuration.ts'
import type { Labels } from '../store/labels.ts'
import { sharedLabels } from '../store/shared-labels.ts'
import { NoAnswerError } from './call.ts'
import type { Client } from './client.ts'
import { OtherAnswerError } from './refused.ts'
import { parseServedRecords, type ServedRecord } from './served-record.ts'

/** Bounds the memory for backtracking, which may take some for each character of a run. */
const RUN_RECORDS_MAX = 1_000
const TEXT = '[^"\\\\\\p{Cc}]*'
const LABELS_BEGIN = ',"labels":'
const LABEL = `"[a-z][a-z0-9._/-]{0,${LABEL_KEY_CHARACTERS_MAX - 1}}(?<![._/-])":"${TEXT}"`
const LABELS = `\\{${LABEL}(?:,${LABEL})*\\}`
/** A record as connbook writes it, with nothing that JSON escapes. */
const RECORD = `\\{"id":(?<id>[1-9]\\d{0,14}),"name":"(?<name>${TEXT})","hostname":"(?<hostname>${TEXT})","port":(?<port>[1-9]\\d{0,4}),"username":"(?<username>${TEXT})"(?<labelled>${LABELS_BEGIN}${LABELS})?\\}`
const EACH = new RegExp(`(?<json>${RECORD}),?`, 'guy')
// Without groups this takes a third of the time of `EACH`.
const UNNAMED = RECORD.replace(/\(\?<[a-z]+>/g, '(?:')
const RUN = new RegExp(`${UNNAMED}(?:,${UNNAMED}){0,${RUN_RECORDS_MAX - 1}}`, 'uy')

/** Begins a record behind another one of a run. */
const NEXT = ',{"id":'

/** How records become lines. */
export interface LineForm {
  /** The lines of a run of usual records. */
  ofRun(run: string): string
  /** The line of any record. */
  of(record: ServedRecord): string
}

/** Records that follow each other, as text. */
interface RecordChunk {
  /** Usual ones; perhaps empty. */
  readonly run: string
  /** What is behind them. */
  readonly others: string[]
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

/** As `openList`, with a line for each record. Makes no record of a usual one, which takes a third of the time. */
export async function openLines(client: Client, path: string, form: LineForm) {
  const { body } = await client.open({ method: 'GET', path })
  return readLines(body, client.endpoint.name, form)
}

/** The records of the body of a list. @param server Its name, for errors. */
export function readRecords(
  body: AsyncIterable<Uint8Array>,
  server: string,
): AsyncGenerator<readonly ServedRecord[]> {
  return readPieces(body, server, ({ run, others }) => [...recordsOfRun(run), ...parseServedRecords(others)])
}

/** The same as lines, each with its newline. */
export function readLines(
  body: AsyncIterable<Uint8Array>,
  server: string,
  form: LineForm,
): AsyncGenerator<readonly string[]> {
  return readPieces(body, server, ({ run, others }) => [
    form.ofRun(run),
    ...parseServedRecords(others).map((record) => `${form.of(record)}\n`),
  ])
}

/** @param read May throw a SyntaxError. @returns Yields what `read` makes of the records in each piece of the body. */
async function* readPieces<Read>(
  body: AsyncIterable<Uint8Array>,
  server: string,
  read: (chunk: RecordChunk) => readonly Read[],
): AsyncGenerator<readonly Read[]> {
  const scanner = new RecordScanner()
  const decoder = new TextDecoder()
  try {
    for await (const bytes of body) {
      const found = scanner.read(decoder.decode(bytes, { stream: true }))
      if (found.length > 0) yield found.flatMap(read)
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

  /** @returns The records that end in this piece. @throws {SyntaxError} */
  read(text: string): RecordChunk[] {
    const found: RecordChunk[] = []
    let others: string[] | undefined
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
        const run = this.#depth === LIST_DEPTH ? usualRunAt(text, at) : ''
        if (run !== '') {
          others = []
          found.push({ run, others })
          at += run.length - 1
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
          if (others === undefined) {
            others = []
            found.push({ run: '', others })
          }
          others.push(this.#begun + text.slice(start, at + 1))
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

const SPACE = 0x20
const QUOTE = 0x22
const BRACKET_OPEN = 0x5b
const BACKSLASH = 0x5c
const BRACKET_CLOSE = 0x5d
const BRACE_OPEN = 0x7b
const BRACE_CLOSE = 0x7d

/**
 * Nearly all records are usual: to take many in one look needs a fraction of the time of finding the end of each and
 * parsing it.
 *
 * @returns The text of the usual records that begin at `at`, with commas between them; empty without any.
 */
function usualRunAt(text: string, at: number): string {
  RUN.lastIndex = at
  return RUN.test(text) ? text.slice(at, RUN.lastIndex) : ''
}

/** The records of a run. */
function recordsOfRun(run: string): ServedRecord[] {
  return Array.from(run.matchAll(EACH), ({ groups = {} }) => {
    const { json = '', id, name = '', hostname = '', port, username = '', labelled } = groups
    const labels = labelled === undefined ? undefined : labelsOf(labelled)
    const record = new Configuration(Number(id), { name, hostname, port: Number(port), username, labels })
    return { json, record }
  })
}

/**
 * A line for each record of a run, made without the record.
 *
 * @param form As `String.replace` takes it, with the groups `json`, `id`, one a field, and `labelled`: the member of
 *   the labels with the comma before it, or nothing. Only this group has quotation marks.
 */
export function linesOfRun(run: string, form: string): string {
  return run.replace(EACH, `${form}\n`)
}

/** The lines of a run as they came. Within a usual record nothing stands for the beginning of the next one. */
export function jsonOfRun(run: string): string {
  return run === '' ? '' : `${run.replaceAll(NEXT, NEXT.replace(',', '\n'))}\n`
}

/** @param labelled As in `linesOfRun`. @returns The labels, sorted. */
export function labelsOf(labelled: string): Labels {
  return sharedLabels(JSON.parse(labelled.slice(LABELS_BEGIN.length)))
}
