import type { LineForm } from '../../client/record-stream.ts'
import { labelsOf, linesOfRun } from '../../client/usual-records.ts'
import { linesOf } from '../../command-line/streamed-table.ts'
import { encodeLabelCell } from '../../exchange/label-cell.ts'
import { fieldNames } from '../../store/fields.ts'
import { escapeHidden } from '../../text.ts'
import { tabLine } from './record-text.ts'

const TAB_LINE = `${fieldNames.map((name) => `$<${name}>`).join('\t')}$<labelled>`

/** A record a line. */
export const jsonForm: LineForm = {
  of: ({ json }) => json,
  ofRun: (run) => linesOfRun(run, '$<json>'),
}

export const nameForm: LineForm = {
  of: ({ record }) => record.name,
  ofRun: (run) => linesOfRun(run, '$<name>'),
}

export const tabForm: LineForm = {
  of: ({ record }) => tabLine(record),
  ofRun(run) {
    const lines = linesOfRun(run, TAB_LINE)
    return lines.includes('"') ? withLabelCells(lines) : lines
  },
}

/** The same for a terminal. */
export function escapedForm({ of, ofRun }: LineForm): LineForm {
  return {
    of: (record) => escapeHidden(of(record)),
    // Line by line, because the ends of lines stay. A usual record has none inside.
    ofRun: (run) => linesOf(ofRun(run).split('\n').slice(0, -1).map(escapeHidden)),
  }
}

function withLabelCells(lines: string): string {
  // Many records have the same labels.
  const cells = new Map<string, string>()
  return lines.replace(/,"labels":[^\n]*/g, (labelled) => {
    const known = cells.get(labelled)
    if (known !== undefined) return known
    const cell = `\t${encodeLabelCell(labelsOf(labelled))}`
    cells.set(labelled, cell)
    return cell
  })
}
