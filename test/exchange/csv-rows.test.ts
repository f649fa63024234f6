import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { csvFormat } from '../../src/exchange/csv-rows.ts'
import { type ImportOptions, noImportOptions } from '../../src/exchange/import-options.ts'
import { IMPORT_ROW_CHARACTERS_MAX } from '../../src/limits.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { draft } from '../support/store.ts'
import { draftsOf, faultsOf, HEADER, read } from './read-text.ts'

describe('a CSV import', () => {
  it('accepts columns in any order, an id, quotes, a byte order mark, and any line endings', () => {
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

  it('takes cells without the white space around them, no-break spaces too, and rows of nothing else as empty', () => {
    const text = `name ,\u00a0hostname,port,username\r\n"test-web01 ",\u00a0h\u3000,\t22, ops\r\n , ,\u00a0,\r\n`
    const { drafts, faults, warnings, read: form } = read('csv', text)
    assert.deepEqual(
      [faults, drafts],
      [[], [draft('test-web01', { hostname: 'h', port: 22, username: 'ops' })]],
    )
    assert.deepEqual(warnings, [{ line: 3, detail: 'left out 1 empty row' }])
    assert.deepEqual(form.columns?.[1], { column: 'hostname', becomes: 'hostname' })
    assert.deepEqual(faultsOf('csv', `${HEADER}\nweb,h,22,u\nweb ,h,22,u\n`), [
      '3 name is the same as on line 2',
    ])
  })

  it('has one blank for a line break within a label, and counts them in one warning', () => {
    const options: ImportOptions = { ...noImportOptions, extra: 'labels' }
    const text = `${HEADER},note,labels\na,h,22,u,"one\r\ntwo\nthree","env=x\ny"\nb,h,22,u,"\nz\n",\n`
    const { drafts, faults, warnings } = read('csv', text, 7, 100, undefined, options)
    assert.deepEqual(
      [faults, drafts.map(({ labels }) => labels)],
      [[], [{ env: 'x y', note: 'one two three' }, { note: 'z' }]],
    )
    assert.deepEqual(warnings, [{ line: 2, detail: '3 line breaks within labels became blanks' }])
    assert.deepEqual(faultsOf('csv', `${HEADER}\na,"h\ni",22,u\n`), [
      '2 hostname must not hold control characters',
    ])
  })

  it('names every faulty row with its line, and continues after it', () => {
    const text = `${HEADER}\r\na,b,22\r\n\r\nb,,99999,x\r\n"c\nd",h,22,x\r\ne"e,h,22,x\r\n"f"f,h,22,x\r\nok,h,0x16,x\r\nok2,h,22,x\r\nok2,h,23,x\r\n"open,h,22,x\r\n`
    assert.deepEqual(faultsOf('csv', text), [
      '2 row has 3 fields, and the header has 4',
      '4 hostname must not be empty',
      '4 port must be an integer from 1 to 65535',
      '5 name must not hold control characters',
      '7 row has a quote inside a field without quotes',
      '8 row has something behind a quoted field',
      '9 port must be an integer from 1 to 65535',
      '11 name is the same as on line 10',
      '12 row has a quote without an end',
    ])
  })

  const torn: Record<string, string> = {
    'a,h,22,u\n"b,h,22,u\nc,h,22,u\nd,h,22,u\n': '3 row has a quote without an end',
    'a,h,22,u\nb,h,22,"u': '3 row has a quote without an end',
    'a,h,22,u\n"b,h,22,u\nc,h,22,u\n"d",h,22,u\n': '3 row has something behind a quoted field',
    'a,h,22,u\n"b,h,22,u\nc",h,22,u,v\n': '3 row has 5 fields, and the header has 4',
    'a,h,22,u\n"b,h,22,u\r"c"x,h,22,u\r': '3 row has something behind a quoted field',
    'a,h,22,u\nb,h,22,"u\nc,h,22,u"\n': '3 username must not hold control characters',
    'a,h,22,u\nb,h,"22\nc,h,22",u\n': '3 port must be an integer from 1 to 65535',
  }
  for (const [rows, fault] of Object.entries(torn)) {
    it(`leaves out no row that may hold others: ${JSON.stringify(rows)}`, () => {
      const options = { ...noImportOptions, isSkipping: true }
      const { faults } = read('csv', `${HEADER}\n${rows}`, 7, 100, undefined, options)
      assert.deepEqual(
        faults.map(({ line, field, detail }) => `${line} ${field} ${detail}`),
        [fault],
      )
    })
  }

  it('leaves out a row at fault beside a text of several lines', () => {
    const options = { ...noImportOptions, isSkipping: true, extra: 'ignore' as const }
    const text = `${HEADER},note\na,h,22,u,\nb,h,x,u,"one\ntwo"\nc,"h\n",22,u,\n"d"e,h,22,u,\n`
    const { drafts, faultCount } = read('csv', text, 7, 100, undefined, options)
    assert.deepEqual([drafts.map(({ name }) => name), faultCount], [['a', 'c'], 0])
  })

  it('takes labels from their column, and an empty cell for none', () => {
    const rows = ['a,env=prod;x=', 'b,', 'c,"a=1;b=\\;\\\\;constructor="""', 'd,a=b=c']
    const text = `name,labels,hostname,port,username\n${rows.map((row) => `${row},h,22,x\n`).join('')}`
    const labels = draftsOf('csv', text).map((draft) => draft.labels)
    const found: Record<string, string>[] = [
      { env: 'prod', x: '' },
      {},
      { a: '1', b: ';\\', constructor: '"' },
      { a: 'b=c' },
    ]
    assert.deepEqual(labels, found)
    assert.deepEqual(
      draftsOf('csv', `${HEADER}\na,h,22,x\n`).map((draft) => 'labels' in draft),
      [false],
    )
  })

  it('names labels that are not well formed', () => {
    const misshapen = ['env', 'a=1;', ';a=1', 'a=1;;b=2', 'a=\\', 'a=\\x']
    const cells = [...misshapen, 'a=1;a=2', 'A=1', '__proto__=x', '=x', 'env=\u0085']
    const text = `${HEADER},labels\n${cells.map((cell, i) => `n${i},h,22,x,${cell}\n`).join('')}`
    const form = 'must be key=value, joined by ";", with "\\" before each ";" and "\\" of a value'
    const key =
      'is not a label: a key is 1 to 63 of a-z, 0-9, ".", "_", "/" and "-", the first a letter, the last a letter or digit'
    assert.deepEqual(faultsOf('csv', text), [
      ...misshapen.map((_, i) => `${i + 2} labels ${form}`),
      '8 labels must not name "a" twice',
      `9 labels.A ${key}`,
      `10 labels.__proto__ ${key}`,
      `11 labels. ${key}`,
      '12 labels.env must not hold control characters',
    ])
  })

  it('says that a port is empty, or begins with a zero', () => {
    assert.deepEqual(faultsOf('csv', `${HEADER}\r\na,h,,u\r\nb,h,022,u\r\nc,h,0,u\r\n`), [
      '2 port must not be empty',
      '3 port must not begin with a zero',
      '4 port must be an integer from 1 to 65535',
    ])
  })

  it('counts blank lines with any line ending', () => {
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
    'a,b,22,x\n':
      '1 header names "a", "b", "22" and "x", of which none is known; write it as: name,hostname,port,username',
    'name,hostname,port\n':
      '1 header does not name username; say map=username:COLUMN, or fill in with default=username:VALUE',
    'name,hostname,port,username,Name\n':
      '1 header names "name" and "Name" for name; say which it is, such as map=name:name',
    '"name,hostname,port,username\n': '1 header has a quote without an end',
    'sep=:\n': '1 header names the separator ":"; only ",", ";", "|" and a tab can be read',
  }
  for (const [text, fault] of Object.entries(headers)) {
    it(`refuses the header ${JSON.stringify(text)}, and reports nothing after it`, () =>
      assert.deepEqual(faultsOf('csv', `${text}${text === '' ? '' : 'x,y\n'}`), [fault]))
  }

  it('leaves out rows of nothing but commas, and keeps the lines of the others', () => {
    const text = `${HEADER}\n,,,\na,h,22,x\n,,,,,\r\n,,\n"",,,""\nb,,22,x\n,,,x\n,,,`
    assert.deepEqual(faultsOf('csv', text), [
      '7 hostname must not be empty',
      '8 name must not be empty',
      '8 hostname must not be empty',
      '8 port must not be empty',
    ])
    assert.deepEqual(draftsOf('csv', `${HEADER}\n,,,\na,host.example,22,ops\n,,,\n`), [draft('a')])
    assert.deepEqual(faultsOf('csv', ',,,\n'), [
      '1 header is missing; write it as: name,hostname,port,username',
    ])
    const above = read('csv', `\r\n;;\n;;;\r\nname;hostname;port;username\r\na;h;0;x\n`)
    assert.deepEqual(
      [above.faults[0]?.line, above.warnings],
      [5, [{ line: 2, detail: 'left out 2 empty rows' }]],
    )
  })

  it('stops at a row that is too long', () => {
    const text = `${HEADER}\n"${'x\n'.repeat(IMPORT_ROW_CHARACTERS_MAX)}`
    assert.deepEqual(faultsOf('csv', text, 1000), [
      `2 row is longer than ${IMPORT_ROW_CHARACTERS_MAX} characters; nothing behind it was read`,
    ])
  })
})

describe('a record as CSV', () => {
  it('is a line after a header that names its columns', () => {
    assert.equal(csvFormat.start, 'name,hostname,port,username\r\n')
    assert.equal(csvFormat.encode(new Configuration(1, draft('a'))), 'a,host.example,22,ops\r\n')
  })

  it('quotes text that would otherwise be misread', () => {
    const cells: Record<string, string> = {
      'a,b': '"a,b"',
      'a"b': '"a""b"',
      ' a': '" a"',
      'a\u00a0': '"a\u00a0"',
      "it's": "it's",
      'a b': 'a b',
    }
    for (const [name, cell] of Object.entries(cells)) {
      const line = csvFormat.encode(new Configuration(1, draft(name)))
      assert.equal(line, `${cell},host.example,22,ops\r\n`)
    }
  })
})
