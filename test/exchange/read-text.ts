import assert from 'node:assert/strict'
import type { ImportOptions } from '../../src/exchange/import-options.ts'
import { type ImportFormatName, ImportReader } from '../../src/exchange/import-reader.ts'

/** Reads bytes in pieces of the given length. */
export function read(
  format: ImportFormatName,
  input: string | Uint8Array,
  pieceBytes = 7,
  faultsMax = 100,
  rowsMax?: number,
  options?: ImportOptions,
) {
  const bytes = Buffer.from(input)
  const reader = new ImportReader(format, faultsMax, {
    ...(rowsMax === undefined ? {} : { rowsMax }),
    ...(options === undefined ? {} : { options }),
  })
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.read(bytes.subarray(at, at + pieceBytes))
  return reader.end()
}

/** `line field detail` of each fault. */
export function faultsOf(format: ImportFormatName, input: string, pieceBytes = 7): string[] {
  return read(format, input, pieceBytes).faults.map(({ line, field, detail }) => `${line} ${field} ${detail}`)
}

export function draftsOf(format: ImportFormatName, input: string, pieceBytes = 7) {
  const { drafts, faults } = read(format, input, pieceBytes)
  assert.deepEqual(faults, [])
  return drafts
}

export const HEADER = 'name,hostname,port,username'
export const web = '{"name":"web","hostname":"web.example","port":22,"username":"ops"}'

/** A text of a format in which each row has the same fault. */
const faultyTexts: Readonly<Record<ImportFormatName, (rows: readonly number[]) => string>> = {
  csv: (rows) => `${HEADER}\n${rows.map((i) => `${i},h,x,u\n`).join('')}`,
  json: (rows) => `[${rows.map(faultyRecord).join(',')}]`,
  jsonl: (rows) => rows.map((i) => `${faultyRecord(i)}\n`).join(''),
  'ssh-config': (rows) => rows.map((i) => `Host h${i}\nUser u\nPort 0\n`).join(''),
  'pg-service': (rows) => rows.map((i) => `[${i}]\nhost=/x\nuser=u\n`).join(''),
  ansible: (rows) => {
    const hosts = rows.map((i) => [`h${i}`, { ansible_port: 'x', ansible_user: 'u' }])
    return JSON.stringify({ _meta: { hostvars: Object.fromEntries(hosts) } })
  },
}

function faultyRecord(i: number): string {
  return JSON.stringify({ name: `${i}`, hostname: 'h', port: 'x', username: 'u' })
}

/** Asserts that each of so many rows may have a fault: the first are kept, all are counted. */
export function assertFaultsCounted(format: ImportFormatName, rowCount: number, faultsMax: number): void {
  const rows = Array.from({ length: rowCount }, (_, i) => i)
  const found = read(format, faultyTexts[format](rows), 65_536, faultsMax)
  // In an SSH configuration, hosts with the same fault are one.
  const listed = format === 'ssh-config' ? 1 : faultsMax
  assert.deepEqual(
    [found.drafts.length, found.faults.length, found.faultCount, found.read.first],
    [0, listed, rowCount, []],
  )
}

/** Asserts that so many rows are read, and none after them. */
export function assertRowsRead(rowsMax: number): void {
  const rows = Array.from({ length: rowsMax + 9 }, (_, i) => `${i},h,22,u`)
  const readRows = (count: number) =>
    read('csv', [HEADER, ...rows.slice(0, count)].join('\n'), 65_536, 100, rowsMax)
  const { faults } = readRows(rows.length)
  const detail = `has more than ${rowsMax} rows; nothing behind them was read; make it several files`
  assert.deepEqual(faults, [{ line: rowsMax + 2, field: 'document', detail }])
  const whole = readRows(rowsMax)
  assert.deepEqual([whole.drafts.length, whole.faults], [rowsMax, []])
}
