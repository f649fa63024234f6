import { isObject, parseJson } from '../json.ts'
import { IMPORT_ROW_CHARACTERS_MAX } from '../limits.ts'
import { kindOf } from '../text.ts'
import { countNewlines, faultyRow, nextMatch, type Row, type RowReader, tooLongRow } from './row.ts'

/** What may stand before the first record, and how it may begin. */
const HEAD = /^[ \t\r\n]*(?:(\{)[ \t\r\n]*"configurations"[ \t\r\n]*:[ \t\r\n]*)?\[/
const HEAD_CHARACTERS_MAX = 1024

/** Reads a JSON array of records, or the envelope `{"configurations":[…]}` with one. */
export function createJsonReader(): RowReader {
  return new JsonReader()
}

class JsonReader implements RowReader {
  #part: 'head' | 'records' | 'tail' | 'over' = 'head'
  #tail = ''
  #line = 1
  /** What has been read of the head, a record or the tail, and the line on which that began. */
  #text = ''
  #first = 1
  #depth = 0
  #isInString = false
  /** Behind a backslash in a string. */
  #isEscaped = false
  #count = 0
  #rows: Row[] = []

  read(piece: string): Row[] {
    let rest = piece
    if (this.#part === 'head') rest = this.#takeHead(rest)
    for (let at = 0; at < rest.length; ) {
      if (this.#part === 'records') at = this.#takeSome(rest, at)
      else {
        this.#takeTail(rest.slice(at))
        break
      }
    }
    return this.#rows.splice(0)
  }

  end(): Row[] {
    if (this.#part === 'head') this.#fail('must be an array, or {"configurations":[…]}')
    if (this.#part === 'records') this.#fail('ends before the array does')
    if (this.#part === 'tail' && this.#tail !== '')
      this.#fail(`ends without the "${this.#tail}" of the start`)
    return this.#rows.splice(0)
  }

  /** Returns what stands behind the head. */
  #takeHead(piece: string): string {
    this.#text += piece
    const match = HEAD.exec(this.#text.replace(/^\ufeff/, ' '))
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

  /** Takes what stands before the next character that means something, and that; returns where to go on. */
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
    if (this.#text === '') {
      const kept = text.replace(/^[ \t\r\n]+/, '')
      this.#line += countNewlines(text.slice(0, text.length - kept.length))
      this.#first = this.#line
      this.#text = kept
      this.#line += countNewlines(kept)
    } else {
      this.#text += text
      this.#line += countNewlines(text)
    }
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
