import '../../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { type LineForm, readLines, readRecords } from '../../../src/client/record-stream.ts'
import { StreamedTable } from '../../../src/command-line/columns.ts'
import { jsonForm, nameForm, tabForm, tableForm } from '../../../src/commands/remote/ls.ts'
import { plainStyle } from '../../support/plain-style.ts'
import { casesOfSlow, holdLaterFor } from '../../support/properties/hold-property.ts'
import { anyLabels } from '../../support/properties/labels.ts'
import { anyEdit, anyText, applyEdit, joined, recordName } from '../../support/properties/texts.ts'

const plain = fc.constantFrom('a', 'web-1', '192.0.2.10', 'x'.repeat(3_000), '字 é', '\u{1f5c4}', 'a\u200bb')
/** Looks like something else in a list or in its lines, or must be escaped. */
const delicate = joined(
  [
    '},{',
    '}]}',
    '{"id":1,',
    '"',
    '\\',
    '\\"',
    '\t',
    '\n',
    '\r',
    ',"labels":',
    '$<name>',
    '$&',
    '\u2028',
    '\u202e',
  ],
  fc.oneof(anyText, recordName),
  4,
)
const text = fc.oneof({ weight: 3, arbitrary: plain }, { weight: 1, arbitrary: delicate })
const labels = fc.oneof(
  fc.constantFrom({ env: 'prod' }, { env: '', group: ':' }, { z: ',', a: ';' }, { b: '}', a: 'a=b' }),
  anyLabels,
)
const record = fc.record(
  {
    id: fc.oneof(fc.nat(), fc.constantFrom(1, 999_999_999_999_999, Number.MAX_SAFE_INTEGER)),
    name: text,
    hostname: text,
    port: fc.integer({ min: 0, max: 99_999 }),
    username: text,
    labels,
  },
  { requiredKeys: ['id', 'name', 'hostname', 'port', 'username'], noNullPrototype: true },
)
const damage = fc.option(
  anyEdit(
    fc.constantFrom(
      '"',
      '\\',
      '\\u0041',
      '\n',
      '\t',
      '\0',
      '\x1f',
      '\x85',
      ' ',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '0',
      'x',
    ),
  ),
  { freq: 4, nil: undefined },
)
const written = fc.tuple(record, damage).map(([value, edit]) => {
  const json = JSON.stringify(value)
  return edit === undefined ? json : applyEdit(json, edit)
})
const list = fc.oneof(
  fc.array(record, { maxLength: 12 }).map((records) => records.map((each) => JSON.stringify(each))),
  fc.array(written, { maxLength: 6 }),
)
const pieceBytes = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant(64 * 1024))

/** Each reads a list seven times. */
const cases = casesOfSlow(50, 1_500)

async function* cut(texts: readonly string[], length: number) {
  const bytes = Buffer.from(`{"configurations":[${texts.join(',')}]}`)
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

/** No such record is usual: it has a space more. */
const notUsual = (texts: readonly string[]) => texts.map((json) => json.replace(/^\{/, '{ '))

/** All that was read, or what is wrong with the list. */
async function collected<Read>(pieces: AsyncIterable<Iterable<Read>>): Promise<Read[] | string> {
  const all: Read[] = []
  try {
    for await (const piece of pieces) all.push(...piece)
  } catch (error) {
    return String(error)
  }
  return all
}

/** A table, in which each form of a line is made anew, with columns that were measured already. */
function tableOf(terminalColumns?: number): LineForm {
  const style = { ...plainStyle, ...(terminalColumns === undefined ? {} : { terminalColumns }) }
  const table = new StreamedTable(['NAME', 'HOSTNAME', 'PORT', 'USERNAME', 'LABELS'], style)
  table.add(Array.from({ length: 1_000 }, () => ['name', 'host.example', '22', 'user', 'env=prod']))
  return tableForm(table)
}

describe('a list that is read in runs of usual records', () => {
  it('gives the lines that its records give one by one', async (t) => {
    const forms = [jsonForm, nameForm, tabForm, tableOf(), tableOf(20), tableOf(1)]
    await holdLaterFor(
      t,
      fc.tuple(list, pieceBytes),
      async ([texts, length]) => {
        const records = await collected(readRecords(cut(notUsual(texts), length), 'here'))
        for (const form of forms) {
          const lines = await collected(readLines(cut(texts, length), 'here', form))
          if (typeof lines === 'string') assert.equal(lines, records)
          else
            assert.equal(
              usual(Buffer.from(lines).toString()),
              typeof records === 'string' ? records : usual(linesOneByOne(form, records).toWellFormed()),
            )
        }
      },
      cases,
    )
  })

  it('has the same records', async (t) => {
    await holdLaterFor(
      t,
      fc.tuple(list, pieceBytes),
      async ([texts, length]) => {
        const one = await collected(readRecords(cut(notUsual(texts), length), 'here'))
        const other = await collected(readRecords(cut(texts, length), 'here'))
        assert.deepEqual(usual(JSON.stringify(other)), usual(JSON.stringify(one)))
      },
      cases,
    )
  })
})

type Served = Parameters<LineForm['other']>[0]

/** Two damaged records may be one together, which has the space in its middle. */
const usual = (text: string) => text.replaceAll(/\{ +/g, '{')

function linesOneByOne(form: LineForm, records: readonly Served[]): string {
  return records.map(({ json, record }) => form.other({ json: json.replace(/^\{ /, '{'), record })).join('')
}
