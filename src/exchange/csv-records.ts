import { IMPORT_ROW_CHARACTERS_MAX } from '../limits.ts'
import { countNewlines, nextMatch } from './row.ts'

const LINE_FEED = 0x0a
const quote = /"/g
/** Ends a line, wherever it stands. */
export const lineEnd = /[\r\n]/

/** A record of RFC 4180, or what is wrong with its form. */
export interface CsvRecord {
  readonly line: number
  readonly fields: readonly string[]
  readonly fault?: string | undefined
  readonly isTooLong?: boolean
  /** Whether it has a line end in quotes, or a quote that nothing closes. */
  readonly isSpread?: boolean
}

/** Splits a text, given in pieces, into records and their fields; leaves out blank lines. */
export class CsvRecords {
  #separator = ','
  #specials = specialsOf(',')
  #line = 1
  /** The current record: its first line, length so far, fields, fault, and whether quotes hold line ends. */
  #first = 1
  #characters = 0
  #fields: string[] = []
  #fault: string | undefined
  #isSpread = false
  #field = ''
  /** `closing`: after a quote in a quoted field; it ends the field or is the first half of `""`. */
  #state: 'start' | 'plain' | 'quoted' | 'closing' = 'start'
  #isAfterReturn = false
  #isOver = false
  #records: CsvRecord[] = []

  /** The line that is being read. */
  get line(): number {
    return this.#line
  }

  separateBy(separator: string): void {
    this.#separator = separator
    this.#specials = specialsOf(separator)
  }

  read(piece: string): CsvRecord[] {
    for (let at = 0; at < piece.length && !this.#isOver; )
      at = this.#takeSome(piece, this.#skipBlankLines(piece, at))
    return this.#records.splice(0)
  }

  end(): CsvRecord[] {
    if (this.#state === 'quoted') {
      this.#fault ??= 'has a quote without an end'
      this.#isSpread = true
    }
    if (!this.#isOver && this.#characters > 0) this.#endRecord()
    return this.#records.splice(0)
  }

  /** Skips blank lines before a record in one step, because a file may have millions. */
  #skipBlankLines(piece: string, at: number): number {
    if (this.#characters > 0 || this.#isAfterReturn) return at
    let end = at
    while (piece.charCodeAt(end) === LINE_FEED) end += 1
    this.#line += end - at
    this.#first = this.#line
    return end
  }

  /** Consumes the text up to and including the next special character; returns the position after it. */
  #takeSome(piece: string, at: number): number {
    const isQuoted = this.#state === 'quoted'
    const end = nextMatch(piece, isQuoted ? quote : this.#specials, at)
    const text = piece.slice(at, end)
    const special = piece.charAt(end)
    this.#characters += text.length + (special === '\n' || special === '\r' ? 0 : special.length)
    if (this.#characters > IMPORT_ROW_CHARACTERS_MAX) {
      this.#isOver = true
      this.#records.push({ line: this.#first, fields: [], isTooLong: true })
      return piece.length
    }
    if (text !== '') {
      this.#isAfterReturn = false
      if (this.#state === 'closing') this.#fault ??= 'has something behind a quoted field'
      if (!isQuoted) this.#state = 'plain'
      else {
        this.#isSpread ||= lineEnd.test(text)
        this.#line += countNewlines(text)
      }
      this.#field += text
    }
    if (special !== '') this.#takeSpecial(special)
    return end + 1
  }

  #takeSpecial(special: string) {
    const isLineEnded = special === '\n' && this.#isAfterReturn
    this.#isAfterReturn = special === '\r'
    if (special === '"') this.#takeQuote()
    else if (special === this.#separator) this.#endField()
    else if (!isLineEnded) {
      this.#line += 1
      this.#endRecord()
    } else this.#first = this.#line
  }

  #takeQuote() {
    if (this.#state === 'plain') {
      // A stray quote opens nothing, so that one bad line cannot swallow the next.
      this.#fault ??= 'has a quote inside a field without quotes'
      return
    }
    if (this.#state === 'closing') this.#field += '"'
    this.#state = this.#state === 'quoted' ? 'closing' : 'quoted'
  }

  #endField() {
    // What people type into sheets ends in blanks that nobody sees, no-break spaces among them.
    this.#fields.push(this.#field.trim())
    this.#field = ''
    this.#state = 'start'
  }

  #endRecord() {
    const isBlank = this.#characters === 0
    this.#endField()
    const record = { line: this.#first, fields: this.#fields, fault: this.#fault, isSpread: this.#isSpread }
    this.#first = this.#line
    this.#characters = 0
    this.#fields = []
    this.#fault = undefined
    this.#isSpread = false
    if (!isBlank) this.#records.push(record)
  }
}

function specialsOf(separator: string): RegExp {
  return new RegExp(`["${separator}\\r\\n]`, 'g')
}
