import '../support/node-version.ts'
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { Fault } from '../../src/errors.ts'
import { inQuery, parseImportOptions, repeatedParameters } from '../../src/exchange/import-options.ts'
import type { ImportFormatName } from '../../src/exchange/import-reader.ts'
import type { ImportWarning, ReadColumn } from '../../src/exchange/row.ts'
import type { ImportedConfiguration, NewConfiguration } from '../../src/store/configuration.ts'
import { read } from './read-text.ts'

const folder = join(import.meta.dirname, 'files')
const END = '.expected.json'

/** What must come out of a file. A member that is missing stands for nothing of its kind. */
interface Expected {
  readonly format: ImportFormatName
  /** The parameters of an import over HTTP. */
  readonly query?: string
  readonly encoding?: string
  readonly separator?: string
  /** Only those columns whose names are not those of fields. */
  readonly columns?: Readonly<Record<string, string | null>>
  readonly records?: readonly NewConfiguration[]
  readonly warnings?: readonly ImportWarning[]
  readonly faults?: readonly Fault[]
}

const files = readdirSync(folder).filter((name) => !name.endsWith(END))

describe('files as other programs write them', () => {
  it('each stand beside what must come out', () => {
    const expected = readdirSync(folder).filter((name) => name.endsWith(END))
    assert.deepEqual(expected, files.map((name) => name + END).toSorted())
    assert.ok(files.length > 0)
  })

  for (const name of files) {
    it(`come in: ${name}`, async () => {
      const bytes = await readFile(join(folder, name))
      const expected: Expected = JSON.parse(await readFile(join(folder, name + END), 'utf8'))
      for (const pieceBytes of [1, 1_000, bytes.length])
        assert.deepEqual(outcomeOf(bytes, expected, pieceBytes), expected, `pieces of ${pieceBytes} bytes`)
    })
  }
})

function outcomeOf(bytes: Buffer, { format, query }: Expected, pieceBytes: number): Expected {
  const found = read(format, bytes, pieceBytes, 100, undefined, optionsOf(format, query))
  const { encoding, separator, columns } = found.read
  const others = columns?.filter(({ column, becomes }) => column !== becomes)
  return {
    format,
    ...(query === undefined ? {} : { query }),
    ...(encoding === 'utf-8' ? {} : { encoding }),
    ...(separator === undefined ? {} : { separator }),
    ...(others === undefined ? {} : { columns: becomesOf(others) }),
    ...ifAny('records', found.faultCount > 0 ? [] : found.drafts.map(recordOf)),
    ...ifAny('warnings', found.warnings),
    ...ifAny('faults', found.faults),
  }
}

function optionsOf(format: ImportFormatName, query: string | undefined) {
  const parameters = new URLSearchParams(query)
  const names = [...new Set(parameters.keys())]
  const words = names.map((name) => {
    const isList = (repeatedParameters as readonly string[]).includes(name)
    return [name, isList ? parameters.getAll(name) : parameters.get(name)]
  })
  return parseImportOptions(Object.fromEntries(words), format, inQuery, (fault) =>
    assert.fail(JSON.stringify(fault)),
  )
}

function becomesOf(columns: readonly ReadColumn[]) {
  return Object.fromEntries(columns.map(({ column, becomes = '?' }) => [column, becomes]))
}

function recordOf({ labelsPatch = {}, ...record }: ImportedConfiguration): NewConfiguration {
  const set = Object.entries(labelsPatch).filter(([, value]) => value !== null)
  return set.length === 0 ? record : ({ ...record, labels: Object.fromEntries(set) } as NewConfiguration)
}

function ifAny<Of>(name: string, list: readonly Of[]): Record<string, readonly Of[]> {
  return list.length === 0 ? {} : { [name]: list }
}
