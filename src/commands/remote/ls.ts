import type { Client } from '../../client/client.ts'
import { listPath } from '../../client/endpoint.ts'
import type { Lines } from '../../client/lines.ts'
import { type LineForm, openLines } from '../../client/record-stream.ts'
import { OtherAnswerError } from '../../client/refused.ts'
import type { ServedRecord } from '../../client/served-record.ts'
import type { UsualRecord } from '../../client/usual-record.ts'
import type { ListColumn } from '../../command-line/client-options.ts'
import { StreamedTable } from '../../command-line/columns.ts'
import { type CommandContext, defineCommand, tell } from '../../command-line/command.ts'
import { clientExitCodes } from '../../command-line/exit-codes.ts'
import type { Options } from '../../command-line/options.ts'
import { inform, shown } from '../../command-line/output.ts'
import type { TerminalStyle } from '../../command-line/terminal-style.ts'
import { UsageError } from '../../errors.ts'
import { PAGE_RECORDS_MAX } from '../../limits.ts'
import type { Configuration } from '../../store/configuration.ts'
import { fieldNames } from '../../store/fields.ts'
import { eitherOf, escapeHidden } from '../../text.ts'
import { openExport } from '../served-export.ts'
import { clientFlags, connect } from './connect.ts'
import { cellIn, cellsOf, explainFaults, filterFlags, filterValues, tabLine } from './record-fields.ts'
import { parseWhere } from './where.ts'

const TAB = 0x09
const NEWLINE = 0x0a
const NAME = fieldNames.indexOf('name')

/** A record a line. */
export const jsonForm: LineForm = {
  usual(record, lines) {
    lines.copy(record.bytes, record.start, record.end)
    lines.byte(NEWLINE)
    return true
  },
  other: ({ json }) => `${json}\n`,
}
export const nameForm: LineForm = {
  usual(record, lines) {
    record.writeField(NAME, lines)
    lines.byte(NEWLINE)
    return true
  },
  other: ({ record }) => `${record.name}\n`,
}
/** For a terminal: only another server has names with line ends. */
const shownNameForm: LineForm = {
  ...nameForm,
  other: ({ record }) => `${escapeHidden(record.name)}\n`,
}
export const tabForm: LineForm = {
  usual(record, lines) {
    for (let i = 0; i < fieldNames.length; i++) {
      if (i > 0) lines.byte(TAB)
      record.writeField(i, lines)
    }
    if (record.hasLabels) lines.byte(TAB)
    record.writeLabels(lines)
    lines.byte(NEWLINE)
    return true
  },
  other: ({ record }) => `${tabLine(record)}\n`,
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
    if (json && !style.isTerminal && limit === undefined && path === listPath())
      return printExport(client, context)
    const headings = columns === undefined ? HEADINGS : columns.map(({ name }) => name.toUpperCase())
    const table = style.isTerminal && !json && !names ? new StreamedTable(headings, style) : undefined
    const form = table === undefined ? lineFormOf(options, style) : tableForm(table, columns)
    const printed = await printRecords(client, path, form, limit, context)
    if (table === undefined || printed === undefined) return
    await inform(context.print, table.end())
    if (printed === 0) tell(context.screen, 'No records\n')
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

/** Prints all records as JSON: the bytes that a server exports are passed on as they come. */
async function printExport(client: Client, { print }: CommandContext) {
  const { body } = await openExport(client, { query: '', format: 'jsonl' })
  for await (const bytes of body) if (!(await inform(print, bytes))) return
}

/**
 * Prints records until nobody reads any more: closing the pager is not an error.
 *
 * @returns How many there were; undefined if nobody reads any more.
 */
async function printRecords(
  client: Client,
  path: string,
  form: LineForm,
  limit: number | undefined,
  { print }: CommandContext,
): Promise<number | undefined> {
  const first = new FirstRecords(form, limit)
  for await (const lines of await explainFaults(openLines(client, path, first), operandNames)) {
    if (lines.length > 0 && !(await inform(print, lines))) return undefined
    if (first.count === limit) break
  }
  return first.count
}

/** Has a line for the first records alone. */
class FirstRecords implements LineForm {
  readonly #form: LineForm
  readonly #max: number | undefined
  count = 0

  constructor(form: LineForm, max: number | undefined) {
    this.#form = form
    this.#max = max
  }

  usual(record: UsualRecord, lines: Lines): boolean {
    if (this.count === this.#max) return true
    if (!this.#form.usual(record, lines)) return false
    this.count += 1
    return true
  }

  other(record: ServedRecord): string {
    if (this.count === this.#max) return ''
    this.count += 1
    return this.#form.other(record)
  }
}

function lineFormOf(
  { json, names, columns }: Pick<Options, 'json' | 'names' | 'columns'>,
  { isTerminal }: TerminalStyle,
): LineForm {
  if (json) return jsonForm
  if (names) return isTerminal ? shownNameForm : nameForm
  return columns === undefined ? tabForm : columnsForm(columns)
}

/** Chosen columns in a pipe. */
function columnsForm(columns: readonly ListColumn[]): LineForm {
  return {
    usual: () => false,
    other: ({ record }) => `${columns.map((column) => cellIn(column, record)).join('\t')}\n`,
  }
}

/** @param columns Undefined for all. */
export function tableForm(table: StreamedTable, columns?: readonly ListColumn[]): LineForm {
  const cells = (record: Configuration) =>
    columns === undefined ? cellsOf(record) : columns.map((column) => cellIn(column, record))
  return {
    usual(record, lines) {
      if (columns !== undefined || !record.isAscii) return false
      return table.write(lines, fieldNames.length + (record.hasLabels ? 1 : 0), (i) =>
        i < fieldNames.length ? record.writeField(i, lines) : record.writeLabels(lines),
      )
    },
    other: ({ record }) => table.add([cells(record).map(escapeHidden)]),
  }
}
