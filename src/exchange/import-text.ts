import { InvalidInputError } from '../errors.ts'
import { IMPORT_ROW_CHARACTERS_MAX } from '../limits.ts'
import { describeForeignFile, PACKED } from './foreign-file.ts'
import { countOf } from './row.ts'

export const importEncodings = ['utf-8', 'utf-16le', 'utf-16be'] as const
export type ImportEncoding = (typeof importEncodings)[number]

/** What the command reads besides, if it is told so; each byte is a character. */
export const inputEncodings = ['windows-1252'] as const
export type InputEncoding = (typeof inputEncodings)[number]

const BYTE_ORDER_MARK_BYTES_MAX = 3
const LATIN_ADVICE =
  'if it is Windows-1252, as from Excel, give the command --encoding windows-1252, or convert it with: iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW'

/**
 * Decodes a text, given in pieces of bytes: UTF-8 with or without byte order mark, or UTF-16 with one. The mark is left
 * out.
 */
export class ImportTextDecoder {
  #encoding: ImportEncoding | undefined
  readonly #utf8 = new TextDecoder('utf-8', { fatal: true })
  /** Bytes that are still to be decoded, or the start of a character that `#utf8` has begun. */
  #held: Buffer = Buffer.alloc(0)
  /** The first half of a UTF-16 surrogate pair. */
  #half = ''
  #lineFeeds = 0
  #returns = 0

  /** Undefined until the first bytes have come. */
  get encoding(): ImportEncoding | undefined {
    return this.#encoding
  }

  /**
   * Pieces may be cut anywhere.
   *
   * @throws {InvalidInputError} for bytes of another encoding, with the first line that has some.
   */
  decode(bytes: Uint8Array): string {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (this.#encoding !== undefined) return this.#decodeMore(piece, this.#encoding)
    this.#held = Buffer.concat([this.#held, piece])
    return this.#held.length < BYTE_ORDER_MARK_BYTES_MAX ? '' : this.#begin()
  }

  /** The last characters. Throws as `decode` does. */
  end(): string {
    const start = this.#encoding === undefined ? this.#begin() : ''
    if (this.#encoding === 'utf-8') {
      try {
        return start + this.#utf8.decode()
      } catch {
        throw this.#refused(0, 'utf-8')
      }
    }
    if (this.#held.length > 0 || this.#half !== '') throw this.#refused(0, this.#encoding ?? 'utf-8')
    return start
  }

  #begin(): string {
    const bytes = this.#held
    this.#held = Buffer.alloc(0)
    if (bytes.toString('latin1', 0, PACKED.length) === PACKED) throw refusedAsPacked()
    const [first, second] = bytes
    if (first === 0xff && second === 0xfe) this.#encoding = 'utf-16le'
    else if (first === 0xfe && second === 0xff) this.#encoding = 'utf-16be'
    else if (second === 0 || (first === 0 && bytes.length > 1)) throw unmarked(first === 0 ? 'BE' : 'LE')
    else this.#encoding = 'utf-8'
    return this.#decodeMore(this.#encoding === 'utf-8' ? bytes : bytes.subarray(2), this.#encoding)
  }

  #decodeMore(piece: Buffer, encoding: ImportEncoding): string {
    const text = encoding === 'utf-8' ? this.#decodeUtf8(piece) : this.#decodeUtf16(piece, encoding)
    this.#lineFeeds += countOf('\n', text)
    // Lines end in a carriage return alone only where no line feed is.
    if (this.#lineFeeds === 0) this.#returns += countOf('\r', text)
    return text
  }

  #decodeUtf8(piece: Buffer): string {
    try {
      const text = this.#utf8.decode(piece, { stream: true })
      this.#held = Buffer.from(unfinished(piece.length < 4 ? Buffer.concat([this.#held, piece]) : piece))
      return text
    } catch {
      const bytes = Buffer.concat([this.#held, piece])
      throw this.#refused(linesBeforeBad(bytes, this.#endOfLines(bytes)), 'utf-8')
    }
  }

  #decodeUtf16(piece: Buffer, encoding: 'utf-16le' | 'utf-16be'): string {
    const bytes = Buffer.concat([this.#held, piece])
    const end = bytes.length - (bytes.length % 2)
    this.#held = bytes.subarray(end)
    const units = bytes.subarray(0, end)
    const text = this.#half + (encoding === 'utf-16be' ? units.swap16() : units).toString('utf16le')
    this.#half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? ''
    const whole = text.slice(0, text.length - this.#half.length)
    if (!whole.isWellFormed()) {
      const lines = whole.split(this.#endOfLines(whole))
      throw this.#refused(
        lines.findIndex((line) => !line.isWellFormed()),
        encoding,
      )
    }
    return whole
  }

  /** What the lines of a text end in, as far as it has come. */
  #endOfLines(next: Buffer | string): string {
    return this.#lineFeeds === 0 && !next.includes('\n') ? '\r' : '\n'
  }

  /** @param lines Between what was decoded and the bad line. */
  #refused(lines: number, encoding: ImportEncoding): InvalidInputError {
    const line = 1 + (this.#lineFeeds || this.#returns) + lines
    return encoding === 'utf-8'
      ? refusedAt(line, 'is not valid UTF-8', LATIN_ADVICE)
      : refusedAt(
          line,
          `is not valid ${encoding.toUpperCase()}, which the file begins as`,
          'write it again, or see what this says: iconv -f UTF-16 -t UTF-8 FILE > NEW',
        )
  }
}

function refusedAsPacked(): InvalidInputError {
  const detail = describeForeignFile(PACKED) ?? ''
  return new InvalidInputError(`The file ${detail}`, [{ field: 'document', detail }])
}

function unmarked(order: 'LE' | 'BE'): InvalidInputError {
  const advice = `convert it with: iconv -f UTF-16${order} -t UTF-8 FILE > NEW`
  return refusedAt(1, 'is not UTF-8; it may be UTF-16 without a byte order mark', advice)
}

function refusedAt(line: number, what: string, advice: string): InvalidInputError {
  const detail = `${what}; ${advice}`
  return new InvalidInputError(`Line ${line} ${detail}`, [{ line, field: 'document', detail }])
}

/** The bytes of a UTF-8 character at the end that are not all of it. */
function unfinished(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte >= 0x80 && byte < 0xc0) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return bytes.subarray(length > back ? -back : bytes.length)
  }
  return bytes.subarray(bytes.length)
}

/** Lines before the first that is not valid UTF-8. */
function linesBeforeBad(bytes: Buffer, endOfLines: string): number {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let lines = 0
  for (let start = 0; ; lines++) {
    const end = bytes.indexOf(endOfLines, start)
    try {
      decoder.decode(bytes.subarray(start, end === -1 ? bytes.length : end), { stream: end === -1 })
    } catch {
      return lines
    }
    if (end === -1) return lines
    start = end + 1
  }
}

/**
 * Splits a text, given in pieces, into lines; pieces may be cut anywhere. A line of more than IMPORT_ROW_CHARACTERS_MAX
 * characters is cut to one more than these.
 */
export class LineSplitter {
  #rest = ''

  /** The lines that end in this piece. */
  read(piece: string): string[] {
    const lines = (this.#rest + piece).split('\n').map((line) => line.slice(0, IMPORT_ROW_CHARACTERS_MAX + 1))
    this.#rest = lines.pop() ?? ''
    return lines
  }

  /** The last line. */
  end(): string {
    return this.#rest
  }
}

/** Splits a text, given in pieces of bytes, into lines. */
export class LineReader {
  readonly #decoder = new ImportTextDecoder()
  readonly #lines = new LineSplitter()

  /** As `LineSplitter.read`. Throws as `ImportTextDecoder.decode` does. */
  read(bytes: Uint8Array): string[] {
    return this.#lines.read(this.#decoder.decode(bytes))
  }

  /** The last line. Throws as `read` does. */
  end(): string[] {
    return [...this.#lines.read(this.#decoder.end()), this.#lines.end()]
  }
}
