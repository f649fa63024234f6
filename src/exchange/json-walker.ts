import { IMPORT_ROW_CHARACTERS_MAX } from '../limits.ts'
import { countNewlines, nextMatch } from './row.ts'

const DEPTH_MAX = 1_000

/** A text, a number, or `true`, `false` and `null`, with a number as it is written. */
export interface JsonScalar {
  readonly kind: 'text' | 'number' | 'word'
  /** Undefined for a text of more than IMPORT_ROW_CHARACTERS_MAX characters. */
  readonly text: string | undefined
}

/** Gets the parts of a JSON text in their order. */
export interface JsonParts {
  open(kind: '{' | '['): void
  close(): void
  /** @param name Undefined as in `JsonScalar`. */
  key(name: string | undefined): void
  value(scalar: JsonScalar): void
}

export interface JsonFault {
  readonly line: number
  readonly detail: string
}

/** Walks through a JSON text that comes in pieces, without keeping it (RFC 8259). */
export class JsonWalker {
  readonly #parts: JsonParts
  readonly #open: ('{' | '[')[] = []
  #next: 'value' | 'item' | 'member' | 'key' | 'colon' | 'comma' | 'nothing' = 'value'
  /** A text, number or word that has begun; a text without its first quotation mark. */
  #token: 'string' | 'bare' | undefined
  #text = ''
  #isTooLong = false
  #isEscaped = false
  #line = 1
  /** Characters before the piece, the token and the line. */
  #passed = 0
  #tokenStart = 0
  #lineStart = 0
  #fault: JsonFault | undefined

  constructor(parts: JsonParts) {
    this.#parts = parts
  }

  /** Nothing behind it is read. */
  get fault(): JsonFault | undefined {
    return this.#fault
  }

  read(piece: string): void {
    for (let at = 0; at < piece.length && this.#fault === undefined; ) at = this.#takeSome(piece, at)
    this.#passed += piece.length
  }

  end(): void {
    if (this.#token === 'bare') this.#endBare()
    if (this.#token === 'string' || this.#next !== 'nothing') this.#fail('ends too early', 0)
  }

  /** Nothing behind this was read. */
  stop(detail: string): void {
    this.#fault ??= { line: this.#line, detail }
  }

  #takeSome(piece: string, at: number): number {
    if (this.#token === 'string') return this.#takeString(piece, at)
    if (this.#token === 'bare') return this.#takeBare(piece, at)
    const end = nextMatch(piece, noBlank, at)
    const blanks = piece.slice(at, end)
    if (blanks.includes('\n')) {
      this.#line += countNewlines(blanks)
      this.#lineStart = this.#passed + at + blanks.lastIndexOf('\n') + 1
    }
    if (end === piece.length) return end
    return this.#takeCharacter(piece.charAt(end), piece, end)
  }

  #takeCharacter(character: string, piece: string, at: number): number {
    const next = this.#next
    const isValue = next === 'value' || next === 'item'
    if (character === '"' && (isValue || next === 'member' || next === 'key')) {
      this.#token = 'string'
      return at + 1
    }
    if ((character === '{' || character === '[') && isValue) this.#begin(character, at)
    else if (character === '}' && (next === 'member' || (next === 'comma' && this.#open.at(-1) === '{')))
      this.#close()
    else if (character === ']' && (next === 'item' || (next === 'comma' && this.#open.at(-1) === '[')))
      this.#close()
    else if (character === ',' && next === 'comma') this.#next = this.#open.at(-1) === '{' ? 'key' : 'value'
    else if (character === ':' && next === 'colon') this.#next = 'value'
    else if (isValue && /[-\da-z]/.test(character)) {
      this.#token = 'bare'
      this.#tokenStart = this.#passed + at
      return at
    } else if (next === 'nothing') this.#fail('has something behind its end', at)
    else this.#fail('is not valid JSON', at)
    return piece.length > at ? at + 1 : at
  }

  #begin(kind: '{' | '[', at: number) {
    if (this.#open.length === DEPTH_MAX) return this.#fail(`is nested deeper than ${DEPTH_MAX}`, at)
    this.#open.push(kind)
    this.#next = kind === '{' ? 'member' : 'item'
    this.#parts.open(kind)
  }

  #close() {
    this.#open.pop()
    this.#parts.close()
    this.#endValue()
  }

  #endValue() {
    this.#next = this.#open.length === 0 ? 'nothing' : 'comma'
  }

  #takeString(piece: string, at: number): number {
    if (this.#isEscaped) {
      this.#isEscaped = false
      this.#append(piece.charAt(at))
      return at + 1
    }
    const end = nextMatch(piece, stringSpecials, at)
    this.#append(piece.slice(at, end))
    const special = piece.charAt(end)
    if (special === '\\') {
      this.#isEscaped = true
      this.#append(special)
    } else if (special === '"') this.#endString(end)
    else if (special !== '') this.#fail('has a control character in a text', end)
    return end + 1
  }

  #append(text: string) {
    if (this.#text.length + text.length > IMPORT_ROW_CHARACTERS_MAX) this.#isTooLong = true
    if (!this.#isTooLong) this.#text += text
  }

  #endString(at: number) {
    const written = this.#text
    const isTooLong = this.#isTooLong
    this.#token = undefined
    this.#text = ''
    this.#isTooLong = false
    const text = isTooLong || !written.includes('\\') ? written : unescaped(written)
    if (text === undefined) return this.#fail('has a "\\" in a text that JSON does not know', at)
    const found = isTooLong ? undefined : text
    if (this.#next === 'key' || this.#next === 'member') {
      this.#next = 'colon'
      this.#parts.key(found)
      return
    }
    this.#endValue()
    this.#parts.value({ kind: 'text', text: found })
  }

  #takeBare(piece: string, at: number): number {
    const end = nextMatch(piece, noBare, at)
    this.#append(piece.slice(at, end))
    if (end < piece.length) this.#endBare()
    return end
  }

  #endBare() {
    const text = this.#text
    const isWord = ['true', 'false', 'null'].includes(text)
    this.#token = undefined
    this.#text = ''
    if (this.#isTooLong || (!isWord && !NUMBER.test(text)))
      return this.#fail('is not valid JSON', this.#tokenStart - this.#passed)
    this.#endValue()
    this.#parts.value({ kind: isWord ? 'word' : 'number', text })
  }

  #fail(detail: string, at: number) {
    this.#fault ??= {
      line: this.#line,
      detail: `${detail} at column ${this.#passed + at - this.#lineStart + 1}`,
    }
  }
}

/** Undefined for an escape that JSON does not have. */
function unescaped(text: string): string | undefined {
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return undefined
  }
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const noBlank = /[^ \t\r\n]/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in a text
const stringSpecials = /["\\\u0000-\u001f]/g
const noBare = /[^-+.\dA-Za-z]/g
