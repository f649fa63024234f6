import type { Client } from '../../client/client.ts'
import { listPath } from '../../client/endpoint.ts'
import {
  jsonOfRun,
  type LineForm,
  labelsOf,
  linesOfRun,
  openLines,
  openList,
} from '../../client/record-stream.ts'
import { OtherAnswerError } from '../../client/refused.ts'
import { linesOf, StreamedTable } from '../../command-line/columns.ts'
import { type CommandContext, defineCommand, tell } from '../../command-line/command.ts'
import { clientExitCodes } from '../../command-line/exit-codes.ts'
import type { Options } from '../../command-line/options.ts'
import { inform, shown } from '../../command-line/output.ts'
import { UsageError } from '../../errors.ts'
import { encodeLabelCell } from '../../exchange/label-cell.ts'
import { PAGE_RECORDS_MAX } from '../../limits.ts'
import type { Configuration } from '../../store/configuration.ts'
import { fieldNames } from '../../store/fields.ts'
import { eitherOf, escapeHidden } from '../../text.ts'
import { clientFlags, connect } from './connect.ts'
import { cellIn, cellsOf, explainFaults, filterFlags, filterValues, tabLine } from './record-fields.ts'
import { parseWhere } from './where.ts'

const TAB_LINE = `${fieldNames.map((name) => `$<${name}>`).join('\t')}$<labelled>`
/** A record a line. */
export const jsonForm: LineForm = {
  of: ({ json }) => json,
  ofRun: jsonOfRun,
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
/** For a pipe. */
const tabTable = {
  add: (rows: readonly (readonly string[])[]) => linesOf(rows.map((cells) => cells.join('\t'))),
  end: () => '',
}
const asItIs = (text: string) => text
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
    ['connbook ls --columns name,label.env', ''],
    ['connbook ls --label env=prod --count', 'how many'],
  ],
  flags: [
    ...clientFlags,
    'sort',
    ...filterFlags,
    'where',
    ...(['columns', 'json', 'names', 'count', 'listLimit'] as const),
  ],
  exitCodes: clientExitCodes,
  async run(input, context) {
    const { options, operands: texts } = input
    const { json, names, columns, count, listLimit: limit } = options
    checkOneForm(options)
    const where = options.where === undefined ? [] : parseWhere(options.where, ['sort'])
    const client = await connect(input, context, 'ls')
    const query = {
      q: texts.length === 0 ? undefined : texts.join(' '),
      sort: options.sort,
      ...filterValues(options),
    }
    if (count) return printCount(client, listPath({ ...query, page: 0, per_page: 1 }, where), context)
    // A longer list is left early.
    const isPage = limit !== undefined && limit <= PAGE_RECORDS_MAX
    const path = listPath({ ...query, ...(isPage ? { page: 0, per_page: limit } : {}) }, where)
    const { style } = context
    const { isTerminal } = style
    if (columns === undefined && (json || names || !isTerminal)) {
      const form = json ? jsonForm : names ? nameForm : tabForm
      return printLines(client, path, isTerminal ? escapedForm(form) : form, limit, context)
    }
    const cellsIn =
      columns === undefined
        ? cellsOf
        : (record: Configuration) => columns.map((column) => cellIn(column, record))
    const headings = columns === undefined ? HEADINGS : columns.map(({ name }) => name.toUpperCase())
    const table = isTerminal ? new StreamedTable(headings, style) : tabTable
    await printTable(
      client,
      path,
      table,
      (record) => cellsIn(record).map(isTerminal ? escapeHidden : asItIs),
      limit,
      context,
    )
  },
})

/** @throws {UsageError} for flags that say different forms. */
function checkOneForm({
  columns,
  json,
  names,
  count,
}: Pick<Options, 'columns' | 'json' | 'names' | 'count'>) {
  const forms = { '--columns': columns !== undefined, '--json': json, '--names': names, '--count': count }
  const given = Object.entries(forms).flatMap(([flag, isGiven]) => (isGiven ? [flag] : []))
  if (given.length > 1)
    throw new UsageError(`Give ${eitherOf(given)}, not ${given.length === 2 ? 'both' : 'all'}`)
}

async function printCount(client: Client, path: string, { print }: CommandContext) {
  const { headers } = await explainFaults(client.ask({ method: 'GET', path }), operandNames)
  const count = headers['x-total-count']
  if (typeof count !== 'string' || !/^\d+$/.test(count))
    throw new OtherAnswerError(
      `${client.endpoint.name} does not say how many records it has; is it a connbook?`,
    )
  await shown(print(`${count}\n`), 'show the count')
}

/** Until nobody reads any more: closing the pager is not an error. */
async function printLines(
  client: Client,
  path: string,
  form: LineForm,
  limit: number | undefined,
  { print }: CommandContext,
) {
  let left = limit ?? Number.POSITIVE_INFINITY
  for await (const lines of await explainFaults(openLines(client, path, form), operandNames)) {
    const first = firstLines(lines.join(''), left)
    left -= first.count
    if (!(await inform(print, first.text)) || left === 0) return
  }
}

/** A text up to the end of its last line that counts; without a limit nothing is counted. */
function firstLines(text: string, countMax: number): { readonly text: string; readonly count: number } {
  if (countMax === Number.POSITIVE_INFINITY) return { text, count: 0 }
  let [end, count] = [0, 0]
  for (; count < countMax; count++) {
    const next = text.indexOf('\n', end)
    if (next === -1) break
    end = next + 1
  }
  return { text: text.slice(0, end), count }
}

/** The same for rows of cells. */
async function printTable(
  client: Client,
  path: string,
  table: Pick<StreamedTable, 'add' | 'end'>,
  cellsIn: (record: Configuration) => string[],
  limit: number | undefined,
  { print, screen, style }: CommandContext,
) {
  const { pieces } = await explainFaults(openList(client, path), operandNames)
  let count = 0
  for await (const records of pieces) {
    const rows = records
      .slice(0, limit === undefined ? undefined : limit - count)
      .map(({ record }) => cellsIn(record))
    count += rows.length
    if (!(await inform(print, table.add(rows)))) return
    if (count === limit) break
  }
  await inform(print, table.end())
  if (count === 0 && style.isTerminal) tell(screen, 'No records\n')
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
