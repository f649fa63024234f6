import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, it } from 'node:test'
import { csvFormat } from '../../src/exchange/csv-rows.ts'
import { inQuery, parseImportOptions } from '../../src/exchange/import-options.ts'
import { Configuration } from '../../src/store/configuration.ts'
import { missing } from '../support/debian.ts'
import { draft } from '../support/store.ts'
import { read } from './read-text.ts'

/** Writes the rows of its input as CSV, or reads CSV into rows. */
const PYTHON = `
import csv, io, json, sys
what = json.load(sys.stdin)
if 'text' in what:
    json.dump(list(csv.reader(io.StringIO(what['text'], newline=''), strict=True)), sys.stdout)
else:
    out = io.StringIO(newline='')
    csv.writer(out, delimiter=what['delimiter'], lineterminator=what['end'], quoting=getattr(csv, what['quoting'])).writerows(what['rows'])
    json.dump(out.getvalue(), sys.stdout)
`

function askPython(input: object): unknown {
  return JSON.parse(
    execFileSync('python3', ['-c', PYTHON], { input: JSON.stringify(input), encoding: 'utf8' }),
  )
}

const values = [
  'a',
  'a"b',
  '"',
  '""',
  '"a"',
  'a,b',
  'a;b',
  'a\tb',
  'a|b',
  ',',
  ';;',
  '=1+1',
  'sep=;',
  ' a b ',
  'é\u{1f5a5}',
]
// A record's name has neither control characters nor white space alone.
const names = values.filter((value) => !value.includes('\t'))

describe('CSV of Python', { skip: missing('python3') }, () => {
  for (const delimiter of [',', ';', '\t', '|']) {
    for (const quoting of ['QUOTE_MINIMAL', 'QUOTE_ALL', 'QUOTE_NONNUMERIC']) {
      for (const end of ['\r\n', '\n']) {
        it(`is read the same: ${JSON.stringify([delimiter, quoting, end])}`, () => {
          const header = ['Name', 'Host Name', 'Port', 'User', 'Note']
          const rows = names.map((name, i) => [name, 'h.example', '22', name, names.at(-i) ?? ''])
          const text = askPython({ delimiter, quoting, end, rows: [header, ...rows] })
          const options = parseImportOptions({ extra: 'labels' }, 'csv', inQuery, ({ detail }) =>
            assert.fail(detail),
          )
          const found = read('csv', String(text), 5, 100, undefined, options)
          assert.deepEqual([found.faults, found.read.separator], [[], delimiter])
          assert.deepEqual(
            found.drafts.map(({ name, hostname, port, username, labelsPatch }) => [
              ...[name, hostname, `${port}`, username, labelsPatch?.note],
            ]),
            // Cells lose the white space around them.
            rows.map((row) => row.map((cell) => cell.trim())),
          )
        })
      }
    }
  }

  it('reads an export the same', () => {
    const records = names.map((name, i) => new Configuration(i + 1, draft(name, { username: name })))
    const text = csvFormat.start + records.map((record) => csvFormat.encode(record)).join('')
    assert.deepEqual(askPython({ text }), [
      ['name', 'hostname', 'port', 'username'],
      ...records.map(({ name, hostname, port, username }) => [name, hostname, `${port}`, username]),
    ])
  })
})
