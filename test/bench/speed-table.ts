import type { Figure } from './figure.ts'
import { mediansText, type PublishedRow } from './published.ts'

/** The lines of the short table; a row that was not measured is left out. */
export function speedTable(rows: readonly PublishedRow[]): string[] {
  const find = (work: string, figure: Figure, comparedWith = '') =>
    rows.find((row) => row.work === work && row.figure === figure && row.comparedWith === comparedWith)
  const bare = 'bare node:http'
  const read = find('GET one record, bearer', 'cpuMicroseconds', bare)
  const page = find('page of 50 from 1,000,000', 'cpuMicroseconds', bare)
  const add = find('durable add', 'perSecond', 'bare group commit')
  const etcd = find('durable add', 'perCpuSecond', 'etcd')
  const start = find('start with 1,000,000 records', 'readyMilliseconds')
  const records = find('1,000,000 records', 'bytesPerRecord')
  const idle = find('idle', 'residentMebibytes', bare)
  const lines = [
    line(
      'read one record with a token',
      read,
      (text) => `${text} times the CPU time of a bare \`node:http\` server`,
    ),
    line(
      'page of 50, sorted, from 1,000,000 records',
      page,
      (text) => `${text} times the CPU time of a bare server that sends the same bytes`,
    ),
    line(
      'add a record, on disk before the answer',
      add,
      (text) => `${text} times the rate of a bare server that only appends to a file`,
    ),
    line('add a record, by CPU time', etcd, (text) => `${text} times as many as etcd`),
    line(
      'start with 1,000,000 records',
      start,
      (text) => `answers \`/healthz\` at once, \`/readyz\` after ${text} s`,
      { unit: 1_000, digits: 1 },
    ),
    line('memory of a record', records, (text) => `${text} bytes`),
    line('memory without records', idle, (text) => `${text} times that of a bare \`node:http\` server`),
  ]
  return ['| work | connbook |', '|---|---|', ...lines.flat()]
}

function line(
  work: string,
  row: PublishedRow | undefined,
  say: (text: string) => string,
  { unit, digits }: { unit?: number; digits?: number } = {},
): string[] {
  return row ? [`| ${work} | ${say(mediansText(row, unit, digits))} |`] : []
}
