import { LABEL_KEY_CHARACTERS_MAX } from '../limits.ts'
import { type FieldName, fieldNames } from '../store/fields.ts'
import type { Lines } from './lines.ts'

interface Member {
  readonly field: FieldName | 'id'
  /** What stands before the value, from the end of the value before. */
  readonly before: Uint8Array
  /** How many digits a number has at most; undefined for a text. */
  readonly digitsMax?: number
}

/** What comes before the labels. */
const members: readonly Member[] = [
  { field: 'id', before: Buffer.from('{"id":'), digitsMax: 15 },
  { field: 'name', before: Buffer.from(',"name":"') },
  { field: 'hostname', before: Buffer.from('","hostname":"') },
  { field: 'port', before: Buffer.from('","port":'), digitsMax: 5 },
  { field: 'username', before: Buffer.from(',"username":"') },
]
/** Where each field is in `members`; -1 for a field that no usual record has. */
const places = fieldNames.map((name) => members.findIndex(({ field }) => field === name))
const LABELS = Buffer.from('","labels":{')
const LABELS_END = Buffer.from('"}}')
const END = Buffer.from('"}')
const LABEL_VALUE = Buffer.from('":"')

/** What may be in the key of a label, and what may end it. */
const inKey = bytesOf(/[a-z0-9._/-]/)
const endsKey = bytesOf(/[a-z0-9]/)

const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const ZERO = 0x30
const NINE = 0x39
const SEMICOLON = 0x3b
const EQUALS = 0x3d
const BACKSLASH = 0x5c
const A = 0x61
const Z = 0x7a
const DELETE = 0x7f
/** In UTF-8, begins U+0080 to U+00BF; up to U+009F these are control characters. */
const C2 = 0xc2
const C1_END = 0xa0

/**
 * A record as connbook writes it, with nothing that JSON escapes, in the bytes of a list: where its parts begin and end.
 * Nearly all records are such, and to find the parts takes a fraction of the time of making a text and parsing it.
 *
 * One of them is used for all records, one after the other, because objects for each would take more time.
 */
export class UsualRecord {
  bytes: Uint8Array = Buffer.alloc(0)
  start = 0
  end = 0
  isAscii = true
  /** Begin and end of the value of each of `members`. */
  readonly #values = new Int32Array(2 * members.length)
  hasLabels = false
  /** From their first quotation mark to the last; the same without labels. */
  #labelsStart = 0
  #labelsEnd = 0

  /** @returns Whether one begins there that ends in these bytes. */
  find(bytes: Uint8Array, start: number): boolean {
    this.bytes = bytes
    this.start = start
    this.isAscii = true
    let at = start
    for (let i = 0; i < members.length; i++) {
      const member = members[i] as Member
      if (!isAt(bytes, at, member.before)) return false
      const begin = at + member.before.length
      at =
        member.digitsMax === undefined ? this.#endOfText(begin) : this.#endOfNumber(begin, member.digitsMax)
      if (at === -1) return false
      this.#values[2 * i] = begin
      this.#values[2 * i + 1] = at
    }
    this.#labelsStart = this.#labelsEnd = 0
    this.hasLabels = isAt(bytes, at, LABELS)
    if (this.hasLabels) {
      this.#labelsStart = at + LABELS.length
      at = this.#endOfLabels(this.#labelsStart)
      if (at === -1) return false
      this.#labelsEnd = at
    }
    const last = this.hasLabels ? LABELS_END : END
    this.end = at + last.length
    return isAt(bytes, at, last)
  }

  /** Writes the value of a field. @param i Its index in `fieldNames`. */
  writeField(i: number, lines: Lines): void {
    const place = places[i] ?? -1
    if (place >= 0) lines.copy(this.bytes, this.#values[2 * place] ?? 0, this.#values[2 * place + 1] ?? 0)
  }

  /** Writes the labels, if there are any, as `encodeLabelCell` does. */
  writeLabels(lines: Lines): void {
    // The first quotation mark of a label begins its key, the second ends it, the others are those of its value.
    let quotes = 0
    for (let at = this.#labelsStart; at < this.#labelsEnd; at++) {
      const byte = this.bytes[at] ?? 0
      if (byte === QUOTE) {
        quotes = (quotes + 1) % 4
        if (quotes === 2) lines.byte(EQUALS)
      } else if (quotes % 2 === 1) {
        if (byte === SEMICOLON) lines.byte(BACKSLASH)
        lines.byte(byte)
      } else if (byte === COMMA) lines.byte(SEMICOLON)
    }
  }

  /** @returns Where the quotation mark stands that ends the text; -1 if a character that is not usual comes first, or none. */
  #endOfText(begin: number): number {
    const { bytes } = this
    for (let at = begin; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0
      if (byte === QUOTE) return at
      if (byte < SPACE || byte === BACKSLASH || byte === DELETE) return -1
      if (byte > DELETE) {
        this.isAscii = false
        if (byte === C2 && (bytes[at + 1] ?? 0) < C1_END) return -1
      }
    }
    return -1
  }

  #endOfNumber(begin: number, digitsMax: number): number {
    const { bytes } = this
    let at = begin
    // Here and below: V8 compiles a loop anew once it has read behind the end.
    while (at < bytes.length && isBetween(ZERO, bytes[at], NINE)) at += 1
    if (at > begin && bytes[begin] === ZERO) return -1
    return at === begin || at - begin > digitsMax ? -1 : at
  }

  /** @returns Where the quotation mark of the last value is; -1 also if the keys are not sorted. */
  #endOfLabels(begin: number): number {
    const { bytes } = this
    let [at, keyBefore] = [begin, 0]
    for (;;) {
      const key = at + 1
      const keyEnd = endOfKey(bytes, key)
      if (keyEnd === -1 || bytes[at] !== QUOTE || !isAt(bytes, keyEnd, LABEL_VALUE)) return -1
      if (keyBefore > 0 && !isKeyBefore(bytes, keyBefore, key)) return -1
      const end = this.#endOfText(keyEnd + LABEL_VALUE.length)
      if (end === -1 || end + 1 === bytes.length || bytes[end + 1] !== COMMA) return end
      keyBefore = key
      at = end + 2
    }
  }
}

function isAt(bytes: Uint8Array, at: number, expected: Uint8Array): boolean {
  if (at + expected.length > bytes.length) return false
  for (let i = 0; i < expected.length; i++) if (bytes[at + i] !== expected[i]) return false
  return true
}

function endOfKey(bytes: Uint8Array, begin: number): number {
  let at = begin
  while (at < bytes.length && inKey[bytes[at] ?? 0] === 1) at += 1
  const isKey =
    at > begin &&
    at - begin <= LABEL_KEY_CHARACTERS_MAX &&
    isBetween(A, bytes[begin], Z) &&
    endsKey[bytes[at - 1] ?? 0] === 1
  return isKey ? at : -1
}

/** The quotation mark behind a key is less than any character of a key. */
function isKeyBefore(bytes: Uint8Array, one: number, other: number): boolean {
  let i = 0
  while (bytes[one + i] === bytes[other + i] && bytes[one + i] !== QUOTE) i += 1
  return (bytes[one + i] ?? 0) < (bytes[other + i] ?? 0)
}

function isBetween(least: number, byte: number | undefined, most: number): boolean {
  return byte !== undefined && byte >= least && byte <= most
}

/** 1 for each ASCII character that matches. */
function bytesOf(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) =>
    byte < 128 && pattern.test(String.fromCharCode(byte)) ? 1 : 0,
  )
}
