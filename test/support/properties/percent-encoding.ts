import { isUtf8 } from 'node:buffer'
import * as fc from 'fast-check'

/**
 * Decodes `%` and two digits into UTF-8, byte by byte; undefined if the text is not valid.
 *
 * Written for the tests, independently of `decodeURIComponent`.
 */
export function decodePercent(text: string): string | undefined {
  let decoded = ''
  for (let i = 0; i < text.length; ) {
    if (text[i] !== '%') {
      decoded += text[i]
      i += 1
      continue
    }
    const bytes: number[] = []
    for (; text[i] === '%'; i += 3) {
      const digits = text.slice(i + 1, i + 3)
      if (!/^[0-9A-Fa-f]{2}$/.test(digits)) return undefined
      bytes.push(Number.parseInt(digits, 16))
    }
    const run = Buffer.from(bytes)
    if (!isUtf8(run)) return undefined
    decoded += run.toString('utf8')
  }
  return decoded
}

/** How each byte of a text is written: as it is where it may be, or with digits in small or capital letters. */
export type Spelling = 'plain' | 'small' | 'capital'

export const anySpellings = fc.array(fc.constantFrom<Spelling>('plain', 'small', 'capital'), {
  minLength: 1,
  maxLength: 8,
})

/** @param spellings Taken in turn, again and again. */
export function encodePercent(text: string, spellings: readonly Spelling[]): string {
  let encoded = ''
  let taken = 0
  for (const byte of Buffer.from(text)) {
    const spelling = spellings[taken % spellings.length]
    taken += 1
    const character = String.fromCharCode(byte)
    const digits = byte.toString(16).padStart(2, '0')
    if (spelling === 'plain' && /[\w.~-]/.test(character)) encoded += character
    else encoded += `%${spelling === 'small' ? digits : digits.toUpperCase()}`
  }
  return encoded
}
