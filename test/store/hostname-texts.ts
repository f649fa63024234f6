import * as fc from 'fast-check'
import { anyEdit, anyText, applyEdit, joined } from '../support/properties/texts.ts'

const characters = [...'abcXYZ0189_']
const label = fc
  .tuple(
    fc.string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength: 6 }),
    fc.constantFrom('', '', '-x', '--1'),
  )
  .map((parts) => parts.join(''))
const longLabel = fc.integer({ min: 61, max: 65 }).map((length) => 'l'.repeat(length))
const foreignLabel = fc.constantFrom(
  'bücher',
  'faß',
  '例え',
  'テスト',
  '\u{1f5c4}',
  'ｈｏｓｔ',
  'x\u00ad',
  'xn--bcher-kva',
  '\u0430',
  'ä',
  '１',
)
const dnsName = fc
  .tuple(
    fc.array(
      fc.oneof(
        { weight: 6, arbitrary: label },
        { weight: 1, arbitrary: longLabel },
        { weight: 2, arbitrary: foreignLabel },
      ),
      {
        minLength: 1,
        maxLength: 5,
      },
    ),
    fc.constantFrom('', '', '', '.'),
  )
  .map(([labels, end]) => labels.join('.') + end)
const longName = fc
  .integer({ min: 250, max: 256 })
  .map((length) => `${'l'.repeat(49)}.`.repeat(5) + 'n'.repeat(length - 250))
const pieces = [
  'a',
  '1',
  '-',
  '.',
  '..',
  ':',
  '::',
  '[',
  ']',
  '%eth0',
  '%',
  '256',
  '0',
  '01',
  'ffff',
  '12345',
  '_',
  ' ',
  '/',
  '@',
  '。',
  '．',
  '\u200d',
  '\u00b7',
  '\u2488',
  '％',
  '＠',
  '：',
  '／',
  'ä',
  'xn--',
  '\ud800',
  '1.2.3.4',
]

/** Hostnames, good ones and those that are nearly so. */
export const anyHostname: fc.Arbitrary<string> = fc
  .tuple(
    fc.oneof(
      { weight: 4, arbitrary: dnsName },
      { weight: 1, arbitrary: longName },
      { weight: 1, arbitrary: fc.ipV4() },
      { weight: 1, arbitrary: fc.ipV6() },
      { weight: 1, arbitrary: fc.ipV6().map((address) => `[${address}]`) },
      { weight: 1, arbitrary: fc.ipV6().map((address) => `${address}%eth0`) },
      { weight: 2, arbitrary: joined(pieces, anyText) },
    ),
    fc.option(anyEdit(fc.constantFrom(...pieces)), { nil: undefined, freq: 2 }),
  )
  .map(([text, edit]) => (edit === undefined ? text : applyEdit(text, edit)))
