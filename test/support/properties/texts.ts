import * as fc from 'fast-check'

/** Names that mean something to JavaScript. */
export const treacherousNames = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
] as const

/** Any character but a surrogate. The unit 'binary' of fast-check would keep a map of all of them. */
export const codePoint = fc
  .oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0x20, max: 0x7e }) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 0xd7ff }) },
    { weight: 1, arbitrary: fc.integer({ min: 0xe000, max: 0x10ffff }) },
  )
  .map((point) => String.fromCodePoint(point))

/** Text of any UTF-16 code units, lone surrogates too. */
export const anyText = fc.string({
  unit: fc
    .oneof(
      { weight: 4, arbitrary: fc.integer({ min: 0x20, max: 0x7e }) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 0xff }) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(0xd800, 0xdc00, 0xfeff, 0xfffd, 0xffff, 0x2028, 0x130, 0x212a),
      },
    )
    .map((unit) => String.fromCharCode(unit)),
  maxLength: 12,
})

/** What a `Cookie` or `Authorization` header can hold: Node reads header fields as Latin-1. */
export const headerText = fc.string({
  unit: fc
    .oneof(
      { weight: 9, arbitrary: fc.integer({ min: 0x20, max: 0x7e }) },
      { weight: 1, arbitrary: fc.constantFrom(0x09, 0x85, 0xa0, 0xad, 0xc2, 0xef, 0xff) },
    )
    .map((unit) => String.fromCharCode(unit)),
  maxLength: 12,
})

/** Without the blanks and tabs around it, and no other white space (RFC 9110 section 5.6.3). */
export function withoutBlanks(text: string): string {
  let [start, end] = [0, text.length]
  while (start < end && ' \t'.includes(text.charAt(start))) start += 1
  while (end > start && ' \t'.includes(text.charAt(end - 1))) end -= 1
  return text.slice(start, end)
}

const isName = (text: string) => !hasControlCharacter(text) && text !== '.' && text !== '..'

/** A name of a record, of a few code points. */
export const shortName = fc
  .oneof(
    { weight: 8, arbitrary: fc.string({ unit: codePoint, minLength: 1, maxLength: 12 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(...treacherousNames, 'a/b', '%2F', '%', '?', '#', '...', ' ', '+', '\\'),
    },
  )
  .filter(isName)

/** Well-formed text without control characters, of 1 to 255 code points: any name that a record can have. */
export const recordName = fc.oneof(
  { weight: 19, arbitrary: shortName },
  { weight: 1, arbitrary: fc.string({ unit: codePoint, minLength: 200, maxLength: 255 }).filter(isName) },
)

/** The 65 of Unicode's category Cc. */
export function hasControlCharacter(text: string): boolean {
  return text.split('').some((unit) => unit < ' ' || (unit >= '\x7f' && unit < '\xa0'))
}

/** A text made of pieces, some of them taken from the given ones. */
export function joined(
  pieces: readonly string[],
  others: fc.Arbitrary<string>,
  maxLength = 8,
): fc.Arbitrary<string> {
  const piece = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...pieces) },
    { weight: 1, arbitrary: others },
  )
  return fc.array(piece, { maxLength }).map((some) => some.join(''))
}

/** How a text may be damaged in one place. */
export interface Edit {
  readonly kind: 'replace' | 'insert' | 'remove' | 'cut' | 'double'
  /** Where, beyond the end as well: it is counted from the start again. */
  readonly at: number
  readonly text: string
}

/** @param texts What is put in. */
export function anyEdit(texts: fc.Arbitrary<string>): fc.Arbitrary<Edit> {
  return fc.record({
    kind: fc.constantFrom('replace', 'insert', 'remove', 'cut', 'double'),
    at: fc.nat({ max: 999_999 }),
    text: texts,
  })
}

export function applyEdit(original: string, { kind, at, text }: Edit): string {
  const index = at % Math.max(1, original.length + (kind === 'insert' ? 1 : 0))
  const [before, behind] = [original.slice(0, index), original.slice(index)]
  if (kind === 'insert') return before + text + behind
  if (kind === 'replace') return before + text + behind.slice(1)
  if (kind === 'remove') return before + behind.slice(1)
  return kind === 'cut' ? before : before + behind.slice(0, 1) + behind
}
