import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { InvalidInputError } from '../../src/errors.ts'
import { importFormatNames } from '../../src/exchange/import-reader.ts'
import { encodeLabelCell } from '../../src/exchange/label-cell.ts'
import { sshLabels } from '../../src/exchange/ssh-labels.ts'
import type { Configuration } from '../../src/store/configuration.ts'
import { labelOf } from '../../src/store/labels.ts'
import { casesOfSlow, holdFor, holdLaterFor } from '../support/properties/hold-property.ts'
import { anyText } from '../support/properties/texts.ts'
import { type Book, jumpInFile } from './hop-model.ts'
import { draftsOf, HEADER, read, web } from './read-text.ts'
import { anyRecords, bare, exported, hostnames } from './records.ts'

/** The labels of formats that can express no others. */
const labelKeys: Readonly<Record<string, readonly string[]>> = {
  'ssh-config': sshLabels.map(({ key }) => key),
  'pg-service': ['pg.dbname', 'pg.sslmode'],
}

/** What an import of an exported file makes of a record. */
function importedAs(format: string, record: Configuration, text: string, book: Book) {
  const { id: _, labels, ...fields } = record
  if (format === 'csv')
    return text.startsWith(`${HEADER},labels`) ? { ...fields, labels: labels ?? {} } : fields
  const keys = labelKeys[format]
  if (keys === undefined) return labels === undefined ? fields : { ...fields, labels }
  const textOf = (key: string) => (key === 'ssh.proxyjump' ? jumpInFile(record, book) : labelOf(labels, key))
  const set = keys.flatMap((key) => {
    const text = textOf(key)
    return text === undefined ? [] : [[key, text] as const]
  })
  const labelsPatch = Object.fromEntries(set)
  return { ...fields, hostname: bare(fields.hostname), labelsPatch }
}

/** Cells lose white space at their ends. */
function hasTrimmedCells({ name, hostname, username, labels }: Configuration): boolean {
  return [name, hostname, username, encodeLabelCell(labels)].every((text) => text.trim() === text)
}

describe('an exported file', () => {
  for (const format of ['json', 'jsonl', 'csv', 'ssh-config', 'pg-service'] as const) {
    it(`is read back unchanged from ${format}, in pieces of any length`, async (t) => {
      const cases = casesOfSlow(200, 5_000)
      const input = fc.tuple(anyRecords(12, hostnames), fc.integer({ min: 1, max: 200 }))
      await holdLaterFor(
        t,
        input,
        async ([records, pieceBytes]) => {
          const kept = format === 'csv' ? records.filter(hasTrimmedCells) : records
          const { text, names } = await exported(format, kept)
          const wanted = kept
            .filter(({ name }) => names.includes(name))
            .map((record) => importedAs(format, record, text, { records: kept, names }))
          // Without a record both of these are invalid.
          if (!['ssh-config', 'jsonl', 'pg-service'].includes(format) || wanted.length > 0)
            assert.deepEqual(draftsOf(format, text, pieceBytes), wanted)
        },
        cases,
      )
    })
  }
})

/** What is read, or why nothing is: a text that begins like UTF-16 without its mark is refused. */
function outcomeOf(...parts: Parameters<typeof read>) {
  try {
    const { lineOf, ...found } = read(...parts)
    return { ...found, lines: found.drafts.map(({ name }) => lineOf(name)) }
  } catch (error) {
    if (error instanceof InvalidInputError) return error.message
    throw error
  }
}

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
    '[a]',
    'host=',
    'user=',
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
  for (const format of importFormatNames) {
    it(`is read the same as ${format}, however it is split into pieces`, (t) => {
      holdFor(t, fc.tuple(text, fc.integer({ min: 1, max: 20 })), ([input, pieceBytes]) => {
        assert.deepEqual(outcomeOf(format, input, pieceBytes), outcomeOf(format, input, 1_000_000))
      })
    })
  }
})
