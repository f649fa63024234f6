import { listPath } from '../../client/paths.ts'
import { openLines, openList } from '../../client/record-stream.ts'
import { defineCommand } from '../../command-line/command.ts'
import { inform } from '../../command-line/output.ts'
import { createStreamedTable } from '../../command-line/streamed-table.ts'
import { UsageError } from '../../errors.ts'
import { fieldNames } from '../../store/fields.ts'
import { escapeHidden } from '../../text.ts'
import { clientExitCodes } from './client-exit-codes.ts'
import { clientFlags, connect } from './connect.ts'
import { escapedForm, jsonForm, nameForm, tabForm } from './line-forms.ts'
import { filterFlags, filterValues } from './record-fields.ts'
import { cellsOf } from './record-text.ts'
import { explainFaults } from './refused-flags.ts'

/** How error messages name the query parameters that are operands on the command line. */
const operandNames = { q: 'TEXT' }
const HEADINGS = [...fieldNames, 'labels'].map((name) => name.toUpperCase())

/** Prints the records of one moment while they come, however many they are. */
export const lsCommand = defineCommand({
  name: 'ls',
  operands: '[TEXT]',
  summary: 'list records, or those with a text in them',
  examples: [
    ['connbook ls', 'in a pipe with tabs, not as a table'],
    ['connbook ls web --sort hostname', 'those with "web" in them'],
    ['connbook ls --label env=prod --names', 'names alone'],
  ],
  server: 'running',
  flags: [...clientFlags, 'sort', ...filterFlags, 'json', 'names'],
  exitCodes: clientExitCodes,
  async run(input, context) {
    const {
      options,
      operands: [text],
    } = input
    const { json, names } = options
    if (json && names) throw new UsageError('Give --json or --names, not both')
    const client = await connect(input, context, 'ls')
    const query = { q: text, sort: options.sort, ...filterValues(options) }
    const path = listPath(query)
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
