import { InvalidInputError } from '../errors.ts'
import { IMPORT_ROW_CHARACTERS_MAX } from '../limits.ts'

/** Splits a text, given in pieces of bytes, into lines. */
export interface LineReader {
  /**
   * The lines that end in this piece; pieces may be cut anywhere. A line of more than IMPORT_ROW_CHARACTERS_MAX characters
   * is cut to one more than these.
   *
   * @throws {InvalidInputError} for invalid UTF-8.
   */
  read(bytes: Uint8Array): string[]
  /** The last line. Throws as `read` does. */
  end(): string[]
}

export function createLineReader(): LineReader {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let rest = ''
  let bytesRead = 0
  const decode = (bytes?: Uint8Array) => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
    } catch {
      throw new InvalidInputError(`The text is not valid UTF-8 at byte ${bytesRead} or soon after`)
    }
  }
  const split = (text: string) => {
    const lines = (rest + text).split('\n').map((line) => line.slice(0, IMPORT_ROW_CHARACTERS_MAX + 1))
    rest = lines.pop() ?? ''
    return lines
  }
  return {
    read(bytes) {
      const lines = split(decode(bytes))
      bytesRead += bytes.length
      return lines
    },
    end: () => [...split(decode()), rest],
  }
}
