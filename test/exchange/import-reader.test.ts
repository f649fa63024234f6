import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { ImportFormatName } from '../../src/exchange/import-formats.ts'
import { createImportReader } from '../../src/exchange/import-reader.ts'
import { IMPORT_ROW_CHARACTERS_MAX, IMPORT_ROWS_MAX } from '../../src/limits.ts'
import { extent } from '../support/extent.ts'
import { holdFor, holdLaterFor } from '../support/properties/hold-property.ts'
import { anyText } from '../support/properties/texts.ts'
import { draft } from '../support/store.ts'
import { anyRecords, bare, exported, hostnames } from './records.ts'

/** Reads bytes in pieces of a length. */
function read(format: ImportFormatName, input: string | Uint8Array, pieceBytes = 7, faultsMax = 100) {
  const bytes = Buffer.from(input)
  const reader = createImportReader(format, faultsMax)
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.read(bytes.subarray(at, at + pieceBytes))
  return reader.end()
}

/** `line field detail` of each fault. */
function faultsOf(format: ImportFormatName, input: string, pieceBytes = 7): string[] {
  return read(format, input, pieceBytes).faults.map(({ line, field, detail }) => `${line} ${field} ${detail}`)
}

function draftsOf(format: ImportFormatName, input: string, pieceBytes = 7) {
  const { drafts, faults } = read(format, input, pieceBytes)
  assert.deepEqual(faults, [])
  return drafts
}

const HEADER = 'name,hostname,port,username'
const web = '{"name":"web","hostname":"web.example","port":22,"username":"ops"}'

describe('what was exported', () => {
  for (const format of ['json', 'csv', 'ssh-config'] as const) {
    it(`comes back from ${format} as it was, in pieces of any length`, async (t) => {
      const cases = extent({ quick: 200, full: 5_000 })
      const input = fc.tuple(anyRecords(12, hostnames), fc.integer({ min: 1, max: 200 }))
      await holdLaterFor(
        t,
        input,
        async ([records, pieceBytes]) => {
          const { text, names } = await exported(format, records)
          const wanted = records
            .filter(({ name }) => names.includes(name))
            .map(({ name, hostname, port, username }) => {
              return { name, hostname: format === 'ssh-config' ? bare(hostname) : hostname, port, username }
            })
          // No record at all is no ssh-config.
          if (format !== 'ssh-config' || wanted.length > 0)
            assert.deepEqual(draftsOf(format, text, pieceBytes), wanted)
        },
        cases,
      )
    })
  }
})

describe('any text', () => {
  const pieces = [
    HEADER,
    '\r\n',
    '\n',
    '\r',
    ',',
    '"',
    '""',
    'a',
    '22',
    '{',
    '}',
    '[',
    ']',
    ':',
    web,
    '\\',
    'Host ',
    'User x',
    ' ',
    '#',
    '\ufeff',
  ]
  const text = fc
    .array(
      fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...pieces) }, { weight: 1, arbitrary: anyText }),
      {
        maxLength: 30,
      },
    )
    .map((some) => some.join('').toWellFormed())
  for (const format of ['json', 'csv', 'ssh-config'] as const) {
    it(`is read as ${format} alike, however it comes in pieces`, (t) => {
      holdFor(t, fc.tuple(text, fc.integer({ min: 1, max: 20 })), ([input, pieceBytes]) => {
        assert.deepEqual(read(format, input, pieceBytes), read(format, input, 1_000_000))
      })
    })
  }
})

describe('a CSV import', () => {
  it('takes columns in any order, an id, quotes, a byte order mark, and any line ends', () => {
    const wanted = [draft('a,"b', { port: 1 }), draft('c')]
    const rows = [
      '\ufeffport,id,"name",username,hostname',
      '1,9,"a,""b",ops,host.example',
      '22,,c,"ops",host.example',
    ]
    for (const end of ['\r\n', '\n', '\r'])
      for (const last of ['', end, end + end])
        assert.deepEqual(draftsOf('csv', rows.join(end) + last), wanted, JSON.stringify(end + last))
  })

  it('names every faulty row with its line, and reads on behind it', () => {
    const text = `${HEADER}\r\na,b,22\r\n\r\nb,,99999,x\r\n"c\nd",h,22,x\r\ne"e,h,22,x\r\n"f"f,h,22,x\r\nok,h,0x16,x\r\nok2,h,22,x\r\nok2,h,23,x\r\n"open,h,22,x\r\n`
    assert.deepEqual(faultsOf('csv', text), [
      '2 row has 3 fields, and the header has 4',
      '4 hostname must not be empty',
      '4 port must be an integer from 1 to 65535',
      '5 name must not hold control characters',
      '7 row has a quote inside a field without quotes',
      '8 row has something behind a quoted field',
      '9 port must be an integer, not a string',
      '11 name is the same as on line 10',
      '12 row has a quote without an end',
    ])
  })

  it('counts blank lines, whatever ends them', () => {
    for (const end of ['\r\n', '\n', '\r']) {
      const text = `${end}${HEADER}${end.repeat(4)}"c\nd",h,22,x${end.repeat(3)}a,b,22`
      for (const pieceBytes of [1, 1_000]) {
        assert.deepEqual(
          faultsOf('csv', text, pieceBytes),
          ['6 name must not hold control characters', '10 row has 3 fields, and the header has 4'],
          JSON.stringify(end),
        )
      }
    }
  })

  const headers: Record<string, string> = {
    '': '1 header is missing; write it as: name,hostname,port,username',
    'name;hostname;port;username\n':
      '1 header names "name;hostname;port;username", which is no field; write it as: name,hostname,port,username',
    'a,b,22,x\n': '1 header names "a", which is no field; write it as: name,hostname,port,username',
    'name,hostname,port\n': '1 header does not name username; write it as: name,hostname,port,username',
    'name,hostname,port,username,name\n':
      '1 header names a field twice; write it as: name,hostname,port,username',
    'Name,hostname,port,username\n':
      '1 header names "Name", which is no field; write it as: name,hostname,port,username',
  }
  for (const [text, fault] of Object.entries(headers)) {
    it(`refuses the header ${JSON.stringify(text)}, and says nothing of what is behind it`, () =>
      assert.deepEqual(faultsOf('csv', `${text}${text === '' ? '' : 'x,y\n'}`), [fault]))
  }

  it('stops at a row that is too long to be one', () => {
    const text = `${HEADER}\n"${'x\n'.repeat(IMPORT_ROW_CHARACTERS_MAX)}`
    assert.deepEqual(faultsOf('csv', text, 1000), [
      `2 row is longer than ${IMPORT_ROW_CHARACTERS_MAX} characters; nothing behind it was read`,
    ])
  })
})

describe('a JSON import', () => {
  it('takes an array or the envelope, with white space anywhere, and ids, which it lets pass', () => {
    const texts = [
      `[${web}]`,
      `{"configurations":[${web}]}`,
      ` \n{ "configurations"\t:\n [ ${web.replaceAll(',', ',\r\n')} ]\n }\n`,
      `\ufeff[${web.replace('{', '{"id":7,')}]`,
    ]
    for (const text of texts) {
      assert.deepEqual(draftsOf('json', text), [draft('web', { hostname: 'web.example' })], text)
      assert.deepEqual(draftsOf('json', text, 1), draftsOf('json', text, 1000))
    }
    assert.deepEqual([draftsOf('json', '[]'), draftsOf('json', '{"configurations": [\n] }')], [[], []])
  })

  it('names every faulty record with its line, and reads on behind it', () => {
    const text = `[\n{"name":1},\n\n  7, null,\n"a]b,{",\n[1,[2]],\n{"name":"x"\n"y"},\n${web},\n${web},\n{"name":"z","hostname":"h","port":"22","username":"u","user":"u"},\n]`
    assert.deepEqual(faultsOf('json', text), [
      '2 name must be a string, not a number',
      '2 hostname is missing',
      '2 port is missing',
      '2 username is missing',
      '4 row must be an object, not a number',
      '4 row must be an object, not null',
      '5 row must be an object, not a string',
      '6 row must be an object, not an array',
      '7 row is not valid JSON',
      '10 name is the same as on line 9',
      '11 port must be an integer, not a string',
      '11 user is not a member of a configuration: name, hostname, port or username',
      '12 row is empty: a comma too many',
    ])
  })

  const documents: Record<string, string> = {
    '': '1 document must be an array, or {"configurations":[…]}',
    '\n{"records":[]}': '1 document must be an array, or {"configurations":[…]}',
    [web]: '1 document must be an array, or {"configurations":[…]}',
    [`[\n${web}`]: '2 document ends before the array does',
    [`{"configurations":[\n${web}]`]: '2 document ends without the "}" of the start',
    [`[${web}]}`]: '1 document has something behind the array; that was not read',
    [`{"configurations":[${web}],\n"more":1}`]:
      '1 document has something behind the array; that was not read',
    [`[${web}}]`]: '1 document has a bracket that does not fit; nothing behind it was read',
  }
  for (const [text, fault] of Object.entries(documents)) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.deepEqual(faultsOf('json', text), [fault]))
  }

  it('stops at a record that is too long to be one, and at a start that is none', () => {
    const long = IMPORT_ROW_CHARACTERS_MAX
    assert.deepEqual(faultsOf('json', `[${web},\n"${'x'.repeat(long)}",${web}`, 1000), [
      `2 row is longer than ${long} characters; nothing behind it was read`,
    ])
    assert.deepEqual(faultsOf('json', ' '.repeat(5000), 1000), [
      '1 document must begin as an array, or as {"configurations":[',
    ])
  })

  it('leaves the prototype of a record alone', () => {
    const [fault] = faultsOf('json', `[${web.replace('{', '{"__proto__":{},')}]`)
    assert.equal(fault, '1 __proto__ is not a member of a configuration: name, hostname, port or username')
  })
})

describe('an ssh-config import', () => {
  it('takes each literal name of a Host line, with the defaults of ssh', () => {
    const text = `\ufeff# a comment
Host web1 web2 # both
  HostName=%h.example.net
\tPORT 2222
  user "ops \\"night\\""

host 'db/main'
  HostName 192.0.2.7
  User = 'DOMAIN\\joe'
Host v6
  HostName fe80::1%%eth0
  User x`
    assert.deepEqual(draftsOf('ssh-config', text.replaceAll('\n', '\r\n')), draftsOf('ssh-config', text))
    assert.deepEqual(draftsOf('ssh-config', text), [
      { name: 'web1', hostname: 'web1.example.net', port: 2222, username: 'ops "night"' },
      { name: 'web2', hostname: 'web2.example.net', port: 2222, username: 'ops "night"' },
      { name: 'db/main', hostname: '192.0.2.7', port: 22, username: 'DOMAIN\\joe' },
      { name: 'v6', hostname: 'fe80::1%eth0', port: 22, username: 'x' },
    ])
  })
  it('names every line that a record cannot keep, and passes none over', () => {
    const text = `Compression yes
User early
Host *
  User x
  ForwardAgent yes
Host a !b c?
  User x
Match host a
  User x
Include other
Host ok ok2
  HostName a b
  IdentityFile ~/.ssh/id
  Port 22
  Port 23
Host "open
Host tok
  HostName %n.example
  User x
Host percent
  User %u
Host far
  HostName far.example
  Port 70000
  User x
Host
Host far
  User x
`
    assert.deepEqual(faultsOf('ssh-config', text), [
      '1 Compression cannot be kept: only HostName, Port and User can',
      '2 User stands before the first Host',
      '3 Host "*" is a pattern; only literal names can be taken',
      '5 ForwardAgent cannot be kept: only HostName, Port and User can',
      '6 Host "!b" is a pattern; only literal names can be taken',
      '6 Host "c?" is a pattern; only literal names can be taken',
      '8 Match cannot be taken: only sections for literal names can',
      '10 Include cannot be taken: only sections for literal names can',
      '11 User is missing; a configuration has a username',
      '11 User is missing; a configuration has a username',
      '12 HostName must have one value',
      '13 IdentityFile cannot be kept: only HostName, Port and User can',
      '15 Port is given twice for the same Host',
      '16 row has a quote without an end',
      '17 HostName holds a token that only ssh can expand; of those, %h and %% are known',
      '20 User holds "%" or "${", which ssh may expand',
      '22 port must be an integer from 1 to 65535',
      '26 Host names nothing',
      '27 name is the same as on line 22',
    ])
  })

  it('takes what names no host for a mistake, and not for no records', () => {
    for (const text of ['', '\n', '# nothing\n'])
      assert.deepEqual(faultsOf('ssh-config', text), ['1 document has no Host'])
  })

  it('stops at a line that is too long to be one', () => {
    const text = `Host a\n  User x\n#${'x'.repeat(3 * IMPORT_ROW_CHARACTERS_MAX)}\nHost b\n`
    assert.deepEqual(faultsOf('ssh-config', text, 1000), [
      `3 row is longer than ${IMPORT_ROW_CHARACTERS_MAX} characters; nothing behind it was read`,
    ])
  })
})

describe('an import of any format', () => {
  it('keeps so many faults, and counts the others', () => {
    const { faults, faultCount } = read('json', `[${'1,'.repeat(500)}1]`, 100, 10)
    assert.deepEqual([faults.length, faultCount, faults.at(-1)?.line], [10, 501, 1])
  })

  it('reads so many rows, and none behind them', () => {
    const row = (i: number) => `${i},h,22,u\n`
    const text = `${HEADER}\n${Array.from({ length: IMPORT_ROWS_MAX + 9 }, (_, i) => row(i)).join('')}`
    assert.deepEqual(faultsOf('csv', text, 65536), [
      `${IMPORT_ROWS_MAX + 2} document has more than ${IMPORT_ROWS_MAX} rows; nothing behind them was read; make it several files`,
    ])
    const whole = text.split('\n').slice(0, IMPORT_ROWS_MAX + 1)
    assert.equal(draftsOf('csv', whole.join('\n'), 65536).length, IMPORT_ROWS_MAX)
  })

  it('refuses bytes that are no UTF-8, also at the very end', () => {
    for (const bytes of ['[\xff]', '[\xc3']) {
      assert.throws(
        () => read('json', Buffer.from(bytes, 'latin1')),
        /^InvalidInputError: The text is not valid UTF-8/,
      )
    }
  })
})
