import { isObject, parseJson } from '../json.ts'
import { IMPORT_ROW_CHARACTERS_MAX } from '../limits.ts'
import { kindOf } from '../text.ts'
import { countNewlines, faultyRow, nextMatch, type Row, type RowReader, tooLongRow } from './row.ts'

/** Everything before the first record. */
const HEAD = /^[ \t\r\n]*(?:(\{)[ \t\r\n]*"configurations"[ \t\r\n]*:[ \t\r\n]*)?\[/
const HEAD_CHARACTERS_MAX = 1024

/** Reads a JSON array of records, bare or in the envelope `{"configurations":[…]}`. */
export function createJsonReader(): RowReader {
  return new JsonReader()
}

class JsonReader implements RowReader {
  #part: 'head' | 'records' | 'tail' | 'over' = 'head'
  /** The `}` that must close the envelope; empty without an envelope, or once it was read. */
  #tail = ''
  #line = 1
  /** The head or record read so far, and its first line. */
  #text = ''
  #first = 1
  #depth = 0
  #isInString = false
  /** After a backslash in a string. */
  #isEscaped = false
  #count = 0
  #rows: Row[] = []

  read(piece: string): Row[] {
    let rest = piece
    if (this.#part === 'head') rest = this.#takeHead(rest)
    let at = 0
    while (at < rest.length && this.#part === 'records') at = this.#takeSome(rest, at)
    this.#takeTail(rest.slice(at))
    return this.#rows.splice(0)
  }

  end(): Row[] {
    if (this.#part === 'head') this.#fail('must be an array, or {"configurations":[…]}')
    if (this.#part === 'records') this.#fail('ends before the array does')
    if (this.#part === 'tail' && this.#tail !== '')
      this.#fail(`ends without the "${this.#tail}" of the start`)
    return this.#rows.splice(0)
  }

  /** Returns the text after the head; empty while the head is incomplete. */
  #takeHead(piece: string): string {
    this.#text += piece
    const match = HEAD.exec(this.#text)
    if (match === null) {
      const isHopeless = this.#text.length > HEAD_CHARACTERS_MAX
      if (isHopeless) this.#fail('must begin as an array, or as {"configurations":[')
      return ''
    }
    const [head, brace] = match
    const rest = this.#text.slice(head.length)
    this.#part = 'records'
    this.#tail = brace === undefined ? '' : '}'
    this.#line += countNewlines(head)
    this.#text = ''
    return rest
  }

  /** Consumes the text up to and including the next special character; returns the position after it. */
  #takeSome(piece: string, at: number): number {
    if (this.#isEscaped) {
      this.#isEscaped = false
      this.#append(piece.charAt(at))
      return at + 1
    }
    const end = nextMatch(piece, this.#isInString ? stringSpecials : specials, at)
    const special = piece.charAt(end)
    this.#append(piece.slice(at, end))
    if (special === '' || this.#part === 'over') return piece.length
    if (this.#depth === 0 && !this.#isInString && (special === ',' || special === ']')) {
      this.#endRecord(special === ']')
      return end + 1
    }
    this.#append(special)
    if (special === '"') this.#isInString = !this.#isInString
    else if (special === '\\') this.#isEscaped = true
    else if (special === '{' || special === '[') this.#depth += 1
    else if (special === '}' || special === ']') this.#depth -= 1
    if (this.#depth < 0) this.#fail('has a bracket that does not fit; nothing behind it was read')
    return end + 1
  }

  #append(text: string) {
    const isBegun = this.#text !== ''
    const kept = isBegun ? text : text.replace(/^[ \t\r\n]+/, '')
    if (!isBegun) this.#first = this.#line + countNewlines(text.slice(0, text.length - kept.length))
    this.#text += kept
    this.#line += countNewlines(text)
    if (this.#text.length <= IMPORT_ROW_CHARACTERS_MAX || this.#part === 'over') return
    this.#rows.push(tooLongRow(this.#first))
    this.#part = 'over'
  }

  #endRecord(isLast: boolean) {
    const text = this.#text
    const line = text === '' ? this.#line : this.#first
    this.#text = ''
    this.#count += 1
    if (isLast) this.#part = 'tail'
    if (text === '' && isLast && this.#count === 1) return
    if (text === '') {
      this.#rows.push(faultyRow(line, 'is empty: a comma too many'))
      return
    }
    const input = parseJson(text)
    if (isObject(input)) this.#rows.push({ line, fields: input })
    else if (input === undefined) this.#rows.push(faultyRow(line, 'is not valid JSON'))
    else this.#rows.push(faultyRow(line, `must be an object, not ${kindOf(input)}`))
  }

  #takeTail(text: string) {
    if (this.#part !== 'tail') return
    for (const character of text) {
      if (character === '\n') this.#line += 1
      if (/[ \t\r\n]/.test(character)) continue
      if (character !== this.#tail) {
        this.#fail('has something behind the array; that was not read')
        return
      }
      this.#tail = ''
    }
  }

  #fail(detail: string) {
    this.#rows.push(faultyRow(this.#line, detail, 'document'))
    this.#part = 'over'
  }
}

const specials = /["{}[\],]/g
const stringSpecials = /["\\]/g

/** Reads one JSON object a line; skips blank lines. */
export function createJsonlReader(): RowReader {
  return new JsonlReader()
}

class JsonlReader implements RowReader {
  #rest = ''
  #line = 0
  #isEmpty = true
  #isOver = false

  read(piece: string): Row[] {
    if (this.#isOver) return []
    const lines = (this.#rest + piece).split('\n')
    this.#rest = lines.pop() ?? ''
    const rows = lines.flatMap((line) => this.#takeLine(line))
    if (this.#isOver || this.#rest.length <= IMPORT_ROW_CHARACTERS_MAX) return rows
    return [...rows, ...this.#takeLine(this.#rest)]
  }

  end(): Row[] {
    const rows = this.#takeLine(this.#rest)
    // An empty file is a fault, because with --mode replace it would remove every record.
    return this.#isEmpty ? [faultyRow(1, 'has no record', 'document')] : rows
  }

  #takeLine(text: string): Row[] {
    this.#line += 1
    if (this.#isOver) return []
    // Blank ones, too: a long one would be read again with each piece.
    if (text.length > IMPORT_ROW_CHARACTERS_MAX) {
      this.#isOver = true
      this.#isEmpty = false
      return [tooLongRow(this.#line)]
    }
    if (text.trim() === '') return []
    this.#isEmpty = false
    const input = parseJson(text)
    if (isObject(input)) return [{ line: this.#line, fields: input }]
    const fault = input === undefined ? 'is not valid JSON' : `must be an object, not ${kindOf(input)}`
    return [faultyRow(this.#line, fault)]
  }
}
