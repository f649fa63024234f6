import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { InvalidInputError } from '../../src/errors.ts'
import { noImportOptions } from '../../src/exchange/import-options.ts'
import { type ImportFormatName, importFormatNames, rowReaders } from '../../src/exchange/import-reader.ts'
import { assertFaultsCounted, assertRowsRead, read } from './read-text.ts'

describe('an import of any format', () => {
  it('keeps faults up to its limit, and counts the others', () => {
    const { faults, faultCount } = read('json', `[${'1,'.repeat(500)}1]`, 100, 10)
    assert.deepEqual([faults.length, faultCount, faults.at(-1)?.line], [10, 501, 1])
  })

  for (const format of importFormatNames) {
    it(`may have a fault in each row, and keeps the first: ${format}`, () =>
      assertFaultsCounted(format, 300, 7))
  }

  it('says a fault once for all rows that cannot be read for the same reason', () => {
    const { faults, faultCount } = read(
      'csv',
      `name,hostname,port,username\n${'a\n'.repeat(5)}a,b\n,,,x\n,,,y\n`,
    )
    const detail = 'and the header has 4'
    assert.deepEqual(faults.slice(0, 3), [
      { line: 2, field: 'row', detail: `has 1 field, ${detail}`, lines: [2, 3, 4], more: 2 },
      { line: 7, field: 'row', detail: `has 2 fields, ${detail}` },
      { line: 8, field: 'name', detail: 'must not be empty' },
    ])
    assert.equal(faultCount, 12)
  })

  it('says how many more it has left out than it names, and all else that it has to say', () => {
    const rows = Array.from({ length: 150 }, (_, i) => `n${i},h,x,u,secret\n`)
    const text = `name,hostname,port,username,password\ngood,h,22,u,\n${rows.join('')},,,,\n`
    const options = { ...noImportOptions, isSkipping: true }
    const { drafts, faultCount, warnings } = read('csv', text, 65_536, 100, undefined, options)
    assert.deepEqual([drafts.length, faultCount, warnings.length], [1, 0, 102])
    assert.deepEqual(
      warnings.slice(98).map(({ name, detail }) => [name, detail]),
      [
        ['n98', 'left out: port must be an integer from 1 to 65535'],
        [undefined, 'left out: 51 more, for other reasons'],
        [undefined, 'column "password" was left out: its name says a secret'],
        [undefined, 'left out 1 empty row'],
      ],
    )
    const whole = `name,hostname,port,username\ngood,h,22,u\n${rows.slice(0, 100).join('').replaceAll(',secret', '')}`
    assert.equal(read('csv', whole, 65_536, 100, undefined, options).warnings.at(-1)?.name, 'n99')
  })

  it('says what the first records without a fault are, with the labels that they get', () => {
    const rows = ['a,h,22,u,x', 'b,h,0,u,x', ...[...'cdefgh'].map((name) => `${name},h,22,u,`)]
    const options = { ...noImportOptions, extra: 'labels' as const }
    const { read: form } = read(
      'csv',
      `name,hostname,port,username,Rack\n${rows.join('\n')}`,
      7,
      100,
      20,
      options,
    )
    const record = { hostname: 'h', port: 22, username: 'u' }
    assert.deepEqual(form.first, [
      { name: 'a', ...record, labels: { rack: 'x' } },
      ...[...'cdef'].map((name) => ({ name, ...record })),
    ])
    const json = read('jsonl', JSON.stringify({ name: 'a', ...record, labels: { env: 'prod' } }))
    assert.deepEqual(json.read.first, [{ name: 'a', ...record, labels: { env: 'prod' } }])
  })

  it('reads rows up to its limit, and none after it', () => {
    assertRowsRead(20)
  })

  it('takes each encoding in pieces of any length, with a byte order mark, and none for UTF-8', () => {
    const name = 'b\u00fcro \u{1f5a5}'
    const text = `name,hostname,port,username\r\n${name},h,22,ops\r\n`
    const forms = {
      plain: Buffer.from(text),
      marked: Buffer.from(`\ufeff${text}`),
      little: Buffer.from(`\ufeff${text}`, 'utf16le'),
      big: Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
    }
    for (const [form, bytes] of Object.entries(forms)) {
      for (const pieceBytes of [1, 2, 3, 5, 1_000]) {
        const { drafts, faults } = read('csv', bytes, pieceBytes)
        assert.deepEqual([drafts.map((draft) => draft.name), faults], [[name], []], `${form} ${pieceBytes}`)
      }
    }
  })

  const bad: Record<string, readonly [bytes: Buffer, line: number]> = {
    'a byte that no character has': [Buffer.from('["\u00fc",\n\xff]', 'latin1'), 1],
    'such a byte in a later line': [Buffer.from('[\n\xc3\xbc\n\xe4', 'latin1'), 3],
    'such a byte where lines end in CR alone': [Buffer.from('[\r1\r\xff]', 'latin1'), 3],
    'half a character at the end': [Buffer.from('[\n\xc3', 'latin1'), 2],
    'half a character before a line end': [Buffer.from('[1,\n2,\xe2\x82\n3]', 'latin1'), 2],
    'half a surrogate pair of UTF-16': [Buffer.from('\ufeff[\n"\ud800"]', 'utf16le'), 2],
    'half a pair at the end': [Buffer.from('\ufeff[\n\n"\ud83d', 'utf16le'), 3],
    'half a unit of UTF-16': [Buffer.from('\ufeff[\n1', 'utf16le').subarray(0, -1), 2],
    'UTF-16 without its mark': [Buffer.from('[\n1]', 'utf16le'), 1],
    'UTF-16 without its mark, the other way round': [Buffer.from('[\n1]', 'utf16le').swap16(), 1],
  }
  for (const [what, [bytes, line]] of Object.entries(bad)) {
    it(`refuses ${what} with the line, and says what converts it`, () => {
      for (const pieceBytes of [1, 2, 3, 5, 1_000]) {
        assert.throws(
          () => read('json', bytes, pieceBytes),
          (error) =>
            error instanceof InvalidInputError &&
            error.message.startsWith(`Line ${line} is not `) &&
            /: iconv -f [A-Z0-9-]+ -t UTF-8 FILE > NEW$/.test(error.message) &&
            error.faults[0]?.line === line,
          `${pieceBytes}`,
        )
      }
    })
  }
})

describe('the formats of an import', () => {
  const texts: Record<ImportFormatName, string> = {
    json: '[{"name":"a","hostname":"h","port":1,"username":"u"}]',
    jsonl: '{"name":"a","hostname":"h","port":1,"username":"u"}\n',
    csv: 'name,hostname,port,username\na,h,1,u\n',
    'ssh-config': 'Host a\n  HostName h\n  Port 1\n  User u\n',
    'pg-service': '[a]\nhost=h\nport=1\nuser=u\n',
    ansible: '{"_meta":{"hostvars":{"a":{"ansible_host":"h","ansible_port":1,"ansible_user":"u"}}}}',
  }

  it('are the formats that can be read back', () => assert.deepEqual(importFormatNames, Object.keys(texts)))

  for (const format of importFormatNames) {
    it(`read the same record from ${format}`, () => {
      const reader = rowReaders[format]()
      const rows = [...reader.read(texts[format]), ...reader.end()]
      const [row, ...others] = rows.filter((each) => each !== undefined)
      assert.deepEqual(row && 'fields' in row && { ...row.fields }, {
        name: 'a',
        hostname: 'h',
        port: 1,
        username: 'u',
      })
      assert.deepEqual(others, [])
    })
  }
})
