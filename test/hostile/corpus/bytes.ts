import { addition, configuration, list, sender, utf8 } from '../requests.ts'
import { entriesFrom, type HostileRow, type Loot, rows } from '../row.ts'

/** Bodies that are not UTF-8, or UTF-8 that is not plain text. */
export function byteRows({ bearer }: Loot): HostileRow[] {
  const send = sender({ Authorization: bearer, 'Content-Type': 'application/json' })
  const add = (body: string) => send(`POST ${list}`, {}, body)
  const withUsername = (bytes: string) => `{"name":"n","hostname":"h","port":1,"username":"${bytes}"}`
  const sound = JSON.stringify(configuration({ name: 'n' }))
  const wide = (order: 'low first' | 'high first') =>
    [...sound].map((letter) => (order === 'low first' ? `${letter}\0` : `\0${letter}`)).join('')
  const adds = (title: string, name: string, prefix = '') =>
    addition(title, add(prefix + utf8(JSON.stringify(configuration({ name })))), configuration({ name }))

  return [
    ...rows(
      entriesFrom(
        [
          '\xff',
          '\xfe\xff',
          '\x80',
          '\xbf\xbf',
          '\xe9',
          'caf\xe9',
          '\xc3',
          '\xc3\x28',
          '\xe2\x82',
          '\xe2\x28\xa1',
          '\xf0\x9f\x98',
          '\xf0\x28\x8c\xbc',
          '\xc0\x80',
          '\xc0\xaf',
          '\xc1\xbf',
          '\xe0\x80\xaf',
          '\xe0\x9f\xbf',
          '\xf0\x80\x80\xaf',
          '\xf0\x8f\xbf\xbf',
          '\xed\xa0\x80',
          '\xed\xbf\xbf',
          '\xed\xa0\xbd\xed\xb8\x80',
          '\xf4\x90\x80\x80',
          '\xf5\x80\x80\x80',
          '\xf8\x88\x80\x80\x80',
          '\xfc\x84\x80\x80\x80\x80',
          '\xc0\xa2,"port":2,"x":"',
        ],
        (bytes) => add(withUsername(bytes)),
        'no UTF-8: ',
      ),
      400,
    ),
    ...rows(
      entriesFrom(
        [
          '\0',
          '\x01',
          '\x08',
          '\t',
          '\n',
          '\r',
          '\x0b',
          '\x1b[2J',
          '\x1f',
          '\x7f',
          '\xc2\x80',
          '\xc2\x85',
          '\xc2\x9b',
          '\xc2\x9f',
        ],
        (bytes) => add(withUsername(bytes)),
        'control character, raw: ',
      ),
      400,
    ),
    ...rows(
      {
        'NULs only': add('\0'.repeat(1_000)),
        'bytes of every value': add(String.fromCharCode(...Array.from({ length: 256 }, (_, i) => i))),
        'a NUL behind the body': add(`${sound}\0`),
        'a NUL before the body': add(`\0${sound}`),
        'a NUL between the members': add(sound.replace(',', ',\0')),
        'UTF-16, low byte first': add(wide('low first')),
        'UTF-16, high byte first': add(wide('high first')),
        'UTF-16 with its mark': add(`\xff\xfe${wide('low first')}`),
        'UTF-16 with its mark, high byte first': add(`\xfe\xff${wide('high first')}`),
        'the mark of UTF-32': add(`\xff\xfe\0\0${sound}`),
        'the mark of UTF-7': add(`+/v8-${sound}`),
        'two byte order marks': add(`\xef\xbb\xbf\xef\xbb\xbf${sound}`),
        'half a byte order mark': add(`\xef\xbb${sound}`),
        'a byte order mark behind the body': add(`${sound}\xef\xbb\xbf`),
        'a byte order mark alone': add('\xef\xbb\xbf'),
        'invalid UTF-8 behind the body': add(`${sound}\xff`),
        'invalid UTF-8 in the name of a member': add('{"\xff":1}'),
        'invalid UTF-8 without a type': sender({ Authorization: bearer })(`POST ${list}`, {}, '\xff{}'),
        'invalid UTF-8 in a login': send('POST /login', {}, '{"username":"\xff","password":"x"}'),
        'invalid UTF-8 for the tokens': send(
          'POST /v1/auth/token',
          {},
          '{"client_id":"\xff","client_secret":"x"}',
        ),
        'invalid UTF-8 in an ignored member of a login': send('POST /login', {}, '{"x":"\xed\xa0\x80"}'),
      },
      400,
    ),
    // A parser may ignore a byte order mark (RFC 8259 section 8.1).
    adds('a byte order mark before the body', 'behind a mark', '\xef\xbb\xbf'),
    ...[
      '\u2028',
      '\u2029',
      '\u202e',
      '\u200b',
      '\ufeff',
      '\ufffd',
      '\ufffe',
      '\uffff',
      '\u{10ffff}',
      '\ue000',
      '\u00ad',
      '\u00a0',
    ].map((letter) => adds(`U+${letter.codePointAt(0)?.toString(16)} in a name`, `bytes ${letter}`)),
    adds('letters stacked high', `Z${'\u0300'.repeat(200)}`),
    adds('an accent made of two', 'e\u0301'),
    adds('the same accent in one', '\u00e9'),
  ]
}
