import { listPath } from '../../client/paths.ts'
import { openList, type ServedRecord } from '../../client/record-stream.ts'
import { defineCommand } from '../../command-line/command.ts'
import { inform, type Print } from '../../command-line/output.ts'
import { createStreamedTable, linesOf } from '../../command-line/streamed-table.ts'
import { UsageError } from '../../errors.ts'
import { escapeHidden } from '../../text.ts'
import { clientExitCodes } from './client-exit-codes.ts'
import { clientFlags, connect } from './connect.ts'
import { filterFlags, filterValues } from './filter-values.ts'
import { cellsOf, tabLine } from './record-text.ts'
import { explainFaults } from './refused-flags.ts'

const HEADINGS = ['NAME', 'HOSTNAME', 'PORT', 'USERNAME', 'LABELS']

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
    const { pieces } = await explainFaults(openList(client, listPath(query)), { q: 'TEXT' })
    const { look, print } = context
    const seen = look.isTerminal ? escapeHidden : (text: string) => text
    if (json) return printEach(pieces, print, ({ json }) => seen(json))
    if (names) return printEach(pieces, print, ({ record }) => seen(record.name))
    if (!look.isTerminal) return printEach(pieces, print, ({ record }) => tabLine(record))
    const table = createStreamedTable(HEADINGS, look)
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

/** Until nobody reads any more: a pager that was closed is no fault. */
async function printEach(
  pieces: AsyncIterable<readonly ServedRecord[]>,
  print: Print,
  lineOf: (record: ServedRecord) => string,
) {
  for await (const records of pieces) if (!(await inform(print, linesOf(records.map(lineOf))))) return
}
