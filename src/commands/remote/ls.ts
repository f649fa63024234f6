import { listPath } from '../../client/endpoint.ts'
import { type LineForm, labelsOf, linesOfRun, openLines, openList } from '../../client/record-stream.ts'
import { createStreamedTable, linesOf } from '../../command-line/columns.ts'
import { defineCommand } from '../../command-line/command.ts'
import { clientExitCodes } from '../../command-line/exit-codes.ts'
import { inform } from '../../command-line/output.ts'
import { UsageError } from '../../errors.ts'
import { encodeLabelCell } from '../../exchange/label-cell.ts'
import { fieldNames } from '../../store/fields.ts'
import { escapeHidden } from '../../text.ts'
import { clientFlags, connect } from './connect.ts'
import { cellsOf, explainFaults, filterFlags, filterValues, tabLine } from './record-fields.ts'
import { parseWhere } from './where.ts'

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

/** How error messages name the query parameters that are operands on the command line. */
const operandNames = { q: 'TEXT' }
const HEADINGS = [...fieldNames, 'labels'].map((name) => name.toUpperCase())

/** Prints the records of one moment while they come, however many they are. */
export const lsCommand = defineCommand({
  name: 'ls',
  operands: '[TEXT…]',
  operandsMax: Number.POSITIVE_INFINITY,
  summary: 'list records, or those with some words in them',
  examples: [
    ['connbook ls', 'in a pipe with tabs, not as a table'],
    ['connbook ls web prod --sort hostname', 'those with "web" and "prod" in them'],
    ['connbook ls --label env=prod --names', 'names alone'],
    ['connbook ls --label env=a --label env=b', 'one or the other'],
  ],
  server: 'running',
  flags: [...clientFlags, 'sort', ...filterFlags, 'where', 'json', 'names'],
  exitCodes: clientExitCodes,
  async run(input, context) {
    const { options, operands: texts } = input
    const { json, names } = options
    if (json && names) throw new UsageError('Give --json or --names, not both')
    const where = options.where === undefined ? [] : parseWhere(options.where, ['sort'])
    const client = await connect(input, context, 'ls')
    const query = {
      q: texts.length === 0 ? undefined : texts.join(' '),
      sort: options.sort,
      ...filterValues(options),
    }
    const path = listPath(query, where)
    const { style, print } = context
    const form = json ? jsonForm : names ? nameForm : style.isTerminal ? undefined : tabForm
    if (form !== undefined) {
      const pieces = await explainFaults(
        openLines(client, path, style.isTerminal ? escapedForm(form) : form),
        operandNames,
      )
      // Until nobody reads any more: closing the pager is not an error.
      for await (const lines of pieces) if (!(await inform(print, lines.join('')))) return
      return
    }
    const { pieces } = await explainFaults(openList(client, path), operandNames)
    const table = createStreamedTable(HEADINGS, style)
    let isEmpty = true
    for await (const records of pieces) {
      isEmpty = false
      const rows = records.map(({ record }) => cellsOf(record).map(escapeHidden))
      if (!(await inform(print, table.add(rows)))) return
    }
    await inform(print, table.end())
    if (isEmpty) context.screen.write('No records\n')
  },
})

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
