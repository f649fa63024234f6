import { align } from '../../command-line/columns.ts'
import { linesOf } from '../../command-line/streamed-table.ts'
import { heading, type TerminalStyle } from '../../command-line/terminal-style.ts'
import { encodeLabelCell } from '../../exchange/label-cell.ts'
import type { Configuration } from '../../store/configuration.ts'
import { fieldNames } from '../../store/fields.ts'
import { escapeHidden } from '../../text.ts'

/** The fields, then the labels as one cell if there are any; with tabs between them, for a pipe. */
export function tabLine(record: Configuration): string {
  // Not through `cellsOf`: a list can have a million lines.
  let [line, tab] = ['', '']
  for (const name of fieldNames) {
    line += tab + (record[name] ?? '')
    tab = '\t'
  }
  return record.labels === undefined ? line : `${line}\t${encodeLabelCell(record.labels)}`
}

/** The cells of a table row. */
export function cellsOf(record: Configuration): string[] {
  const cells = fieldNames.map((name) => String(record[name] ?? ''))
  return record.labels === undefined ? cells : [...cells, encodeLabelCell(record.labels)]
}

/** A line for each field and label, for a terminal. */
export function describeRecord(record: Configuration, style: TerminalStyle): string {
  const rows = [
    ...fieldNames.flatMap((name) => (record[name] === undefined ? [] : [[name, String(record[name])]])),
    ...Object.entries(record.labels ?? {}).map(([key, value]) => [`labels.${key}`, value]),
  ]
  return linesOf(align(rows.map((row) => row.map(escapeHidden))).map((line) => withBoldStart(line, style)))
}

function withBoldStart(line: string, style: TerminalStyle): string {
  const end = line.indexOf(' ')
  return end === -1 ? line : heading(line.slice(0, end), style) + line.slice(end)
}
