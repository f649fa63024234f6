import { isObject, parseJson } from '../json.ts'
import { IMPORT_ROW_CHARACTERS_MAX } from '../limits.ts'
import { kindOf } from '../text.ts'
import { faultyRow, type Row, type RowReader, tooLongRow } from './row.ts'

/** Reads one JSON object a line; skips blank lines, and a byte order mark. */
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
    const input = parseJson(this.#line === 1 ? text.replace(/^\ufeff/, '') : text)
    if (isObject(input)) return [{ line: this.#line, fields: input }]
    const fault = input === undefined ? 'is not valid JSON' : `must be an object, not ${kindOf(input)}`
    return [faultyRow(this.#line, fault)]
  }
}
