import { InvalidInputError } from '../errors.ts'
import { IMPORT_ROW_CHARACTERS_MAX } from '../limits.ts'

/** Splits a text, given in pieces of bytes, into lines. */
export interface LineReader {
  /**
   * The lines that end in this piece; pieces may be cut anywhere.
   *
   * @throws {InvalidInputError} for invalid UTF-8, and for a line that is too long.
   */
  read(bytes: Uint8Array): string[]
  /** The last line. Throws as `read` does. */
  end(): string[]
}

export function createLineReader(): LineReader {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let rest = ''
  let bytesRead = 0
  let linesRead = 0
  const decode = (bytes?: Uint8Array) => {
    try {
      return bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
    } catch {
      throw new InvalidInputError(`The text is not valid UTF-8 at byte ${bytesRead} or soon after`)
    }
  }
  const split = (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    const long = [...lines, rest].findIndex((line) => line.length > IMPORT_ROW_CHARACTERS_MAX)
    if (long !== -1) {
      const where = `Line ${linesRead + long + 1}`
      throw new InvalidInputError(`${where} is longer than ${IMPORT_ROW_CHARACTERS_MAX} characters`)
    }
    linesRead += lines.length
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
