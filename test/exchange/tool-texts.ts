import type { Configuration, NewConfiguration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'
import { exported, recordsOf } from './records.ts'

/** What means something to a shell, a template, a configuration file or a terminal; fields have no control characters. */
const signs = [
  ...'\'"\\$`{}%#;|&<>()[]*?!~=,:/@+^-.',
  ' ',
  ...[
    '{{',
    '{%',
    '{#',
    '}}',
    '%%',
    '%h',
    '##',
    '--',
    '\\\\',
    '\\"',
    '\\n',
    '\'"',
    '""',
    "''",
    '$$',
    '&&',
    '$' + '{x}',
  ],
  ...[
    '\u00a0',
    '\u00ad',
    '\u0301',
    '\u200b',
    '\u200f',
    '\u202e',
    '\u2028',
    '\u2029',
    '\u2066',
    '\ufeff',
    '\uffff',
  ],
  ...['\u00e9', '\u65e5\u672c', '\u{1f5c4}', '\u{1f469}\u200d\u{1f4bb}', '\u{1d4b3}'],
]

/** Each sign between letters. */
export const innerTexts: readonly string[] = signs.map((sign) => `a${sign}b`)

/** Each sign alone, and at every end; words that a language has for itself; commands that would make a file; long texts. */
export function toolTexts(canary: string): readonly string[] {
  const texts = [
    ...signs
      .flatMap((sign) => [sign, `a${sign}b`, `${sign}a`, `a${sign}`])
      .filter((text) => !/^\.\.?$/.test(text)),
    ...[
      'null',
      'true',
      'no',
      '~',
      '1',
      '01',
      '0x1f',
      '1e3',
      '1_000',
      '12:30',
      '2001-01-01',
      '.inf',
      '<<',
      '---',
    ],
    ...[
      '!unsafe a',
      '&a b',
      '*a',
      '? a',
      '- a',
      'a: b',
      'a #b',
      '%(directory)s',
      '%{a}',
      '-o',
      '-F/dev/null',
    ],
    ...[`$(touch ${canary})`, `\`touch ${canary}\``, `'; touch ${canary}; '`, `"; touch ${canary}; "`],
    ...[`-oProxyCommand=touch ${canary}`, `|touch ${canary}`, `{{ lookup('pipe', 'touch ${canary}') }}`],
    ...['{{ 7 * 7 }}', '{% raw %}', '{# a #}', '{{', 'ldap://a', 'none', '__proto__', 'constructor'],
    ...['a', '"', "'", '\\', '\u65e5', '\u{1f5c4}'].map((character) => character.repeat(255)),
  ]
  return [...new Set(texts)]
}

/** Where a text stands in a record. @param i Of the record. */
export type Place = (record: NewConfiguration, text: string, i: number) => NewConfiguration

export const inName: Place = (record, name) => ({ ...record, name })
/** For formats that have another form of the name as a key. */
export const inEndOfName: Place = (record, text, i) => ({
  ...record,
  name: [...`n${i}x${text}`].slice(0, 255).join(''),
})
export const inUsername: Place = (record, username) => ({ ...record, username })
export const inLabel =
  (key: string): Place =>
  (record, text) => ({ ...record, labels: { ...record.labels, [key]: text } })

/**
 * Records that have in each place every text that a format can express there: few records, so that a tool is asked seldom.
 *
 * @param common What all of them have.
 */
export async function filledRecords(
  format: string,
  texts: readonly string[],
  places: readonly Place[],
  common: Partial<NewConfiguration> = {},
): Promise<Configuration[]> {
  const empty = (i: number) => draft(`r${i}`, { port: 1 + i, ...common })
  const expressed = await Promise.all(
    places.map(async (place) => {
      const alone = recordsOf(texts.map((text, i) => place(empty(i), text, i)))
      const { obstacles } = await exported(format, alone)
      return texts.filter((_, i) => !Object.hasOwn(obstacles, alone[i]?.name ?? ''))
    }),
  )
  const count = Math.max(...expressed.map(({ length }) => length))
  const filled = Array.from({ length: count }, (_, i) =>
    places.reduce((record, place, at) => {
      const text = expressed[at]?.[i]
      return text === undefined ? record : place(record, text, i)
    }, empty(i)),
  )
  return recordsOf(filled)
}
