import type { Client } from '../../client/client.ts'
import { queryOf } from '../../client/endpoint.ts'
import { OtherAnswerError } from '../../client/refused.ts'
import { alignColumns, linesOf } from '../../command-line/columns.ts'
import { defineCommand, tell } from '../../command-line/command.ts'
import { recordExitCodes } from '../../command-line/exit-codes.ts'
import { shown } from '../../command-line/output.ts'
import { UsageError } from '../../errors.ts'
import { isObject, parseJson } from '../../json.ts'
import { ALL_HISTORY_ENTRIES_MAX, HISTORY_ENTRIES_DEFAULT, HISTORY_ENTRIES_MAX } from '../../limits.ts'
import { escapeHidden } from '../../text.ts'
import { clientFlags, connect } from './connect.ts'
import { withNearNames } from './given-names.ts'
import { explainFaults } from './record-fields.ts'
import { parseWhere } from './where.ts'

/** The path of the history of all records. */
const HISTORY = '/v1/history'
/** Shown at most with `--since`, as they are all in memory. */
const SINCE_ENTRIES_MAX = 10_000

export const historyCommand = defineCommand({
  name: 'history',
  operands: '[NAME]',
  completes: 'records',
  summary: 'show what happened to a record, or to all, and who did it',
  examples: [
    ['connbook history web1', 'newest first'],
    ['connbook history web1 --limit 1 --json', ''],
    ['connbook history --since 7d --by eve', 'of all records'],
    ['connbook history --where label=env=prod', ''],
  ],
  notes: [
    'Without NAME, --where keeps the changes of records that the query keeps before or after the change. An import or change of very many records is one line with its counts, and is shown without --where only.',
  ],
  flags: [...clientFlags, 'since', 'until', 'by', 'where', 'limit', 'json'],
  exitCodes: recordExitCodes,
  async run(input, context) {
    const {
      options,
      operands: [name],
    } = input
    const path = name === undefined ? pathOfAll(options) : pathOf(name, options)
    const client = await connect(input, context, 'history')
    const asked = explainFaults(
      name === undefined ? readAll(client, path, options) : readOne(client, path, options),
    )
    const { entries, since, more } = await (name === undefined ? asked : withNearNames(client, name, asked))
    const { style, print, screen } = context
    const why = entries.some(({ reason }) => reason !== undefined) ? ['REASON'] : []
    const headings = ['TIME', 'EVENT', ...(name === undefined ? ['NAME'] : []), 'BY', 'CHANGED', ...why]
    const rows = entries.map((entry) => cellsOf(entry, name === undefined))
    const text = options.json
      ? entries.map((entry) => JSON.stringify(entry))
      : style.isTerminal
        ? alignColumns(
            headings,
            rows.map((row) => row.map(escapeHidden)),
            style,
          )
        : rows.map((row) => row.join('\t'))
    await shown(print(linesOf(text)), 'show the history')
    if (more !== undefined) screen.write(`connbook: ${more}\n`)
    if (style.isTerminal) tell(screen, `Complete since ${since}\n`)
  },
})

interface HistoryFilters {
  readonly since: string | undefined
  readonly until: string | undefined
  readonly by: string | undefined
  readonly where: string | undefined
  readonly limit: number | undefined
}

/** @throws {UsageError} for what is only of the history of all, or too high a limit. */
function pathOf(name: string, { since, until, by, where, limit }: HistoryFilters): string {
  if (name === '') throw new UsageError('The name of a record cannot be empty; leave it out for all records')
  const others = { '--since': since, '--until': until, '--by': by, '--where': where }
  for (const [flag, value] of Object.entries(others))
    if (value !== undefined)
      throw new UsageError(`${flag} is for the history of all: leave out NAME, or write --where name=NAME`)
  if (limit !== undefined && limit > HISTORY_ENTRIES_MAX)
    throw new UsageError(`For one record, --limit is at most ${HISTORY_ENTRIES_MAX}`)
  // One more than is shown says whether there are more.
  return `/v1/history/${encodeURIComponent(name)}${queryOf({ limit: limit ?? HISTORY_ENTRIES_DEFAULT + 1 })}`
}

function pathOfAll({ where, since, until, by, limit: given }: HistoryFilters): string {
  const pairs = where === undefined ? [] : parseWhere(where, [])
  const limit = given ?? (since === undefined ? undefined : ALL_HISTORY_ENTRIES_MAX)
  return `${HISTORY}${queryOf({ since, until, by, limit }, pairs)}`
}

interface ReadHistory {
  readonly entries: readonly ListedEntry[]
  readonly since: unknown
  /** What was left out, and how to get it; undefined if nothing was that nobody asked to leave out. */
  readonly more: string | undefined
}

async function readOne(client: Client, path: string, { limit }: HistoryFilters): Promise<ReadHistory> {
  const { entries, since } = await readPage(client, path)
  if (limit !== undefined || entries.length <= HISTORY_ENTRIES_DEFAULT)
    return { entries, since, more: undefined }
  const more = `Only the newest ${HISTORY_ENTRIES_DEFAULT} changes are shown; for older ones, add --limit COUNT`
  return { entries: entries.slice(0, HISTORY_ENTRIES_DEFAULT), since, more }
}

/** With `--since`, and without `--limit`, all pages to there, up to SINCE_ENTRIES_MAX entries. */
async function readAll(
  client: Client,
  path: string,
  { since: from, limit }: HistoryFilters,
): Promise<ReadHistory> {
  let page = await readPage(client, path)
  const entries = [...page.entries]
  const isWhole = from !== undefined && limit === undefined
  while (isWhole && page.next !== undefined && entries.length < SINCE_ENTRIES_MAX) {
    page = await readPage(client, page.next)
    entries.push(...page.entries)
  }
  const { since, next } = page
  // The server sends fewer than it may if they are long.
  if (next === undefined || entries.length >= (limit ?? Number.POSITIVE_INFINITY))
    return { entries, since, more: undefined }
  const way =
    isWhole || limit !== undefined
      ? 'ask for parts with --since and --until'
      : 'add --since TIME or --limit COUNT'
  const more = `Only the newest ${entries.length} changes are shown; for older ones, ${way}`
  return { entries, since, more }
}

interface HistoryPage extends Pick<ReadHistory, 'entries' | 'since'> {
  /** The path of the next one. */
  readonly next: string | undefined
}

async function readPage(client: Client, path: string): Promise<HistoryPage> {
  const { headers, text } = await client.ask({ method: 'GET', path })
  const answered = parseJson(text)
  const { history: entries, since } = isObject(answered) ? answered : {}
  if (!Array.isArray(entries) || !entries.every(isEntry))
    throw new OtherAnswerError(`${client.endpoint.name} answers no history; is it an older connbook?`)
  // Its path has the base path, and a proxy may have changed that.
  const query = /^<[^>?]*(\?[^>]*)>; rel="next"$/.exec(String(headers.link))?.[1]
  return { entries, since, next: query && HISTORY + query }
}

interface ListedEntry {
  readonly time: string
  readonly event: string
  readonly name?: string
  readonly by?: string
  readonly kind?: string
  readonly command?: string
  readonly changed?: unknown
  readonly record?: unknown
  readonly via?: unknown
  readonly reason?: string
}

function isEntry(input: unknown): input is ListedEntry {
  if (!isObject(input)) return false
  const { time, event, name = '', by = '', command = '', reason = '' } = input
  return [time, event, name, by, command, reason].every((member) => typeof member === 'string')
}

/** @param isNamed Whether the name is a cell, too. */
function cellsOf(entry: ListedEntry, isNamed: boolean): string[] {
  const { time, event, name = '', by = '', command, via, reason } = entry
  const claims = isObject(via) ? [` (claims: ${via.claimed})`] : []
  const who = [by, ...claims, ...(command === undefined ? [] : [` (${command})`])].join('')
  const what = event.startsWith('configurations_') ? countsOf(entry) : (entry.changed ?? entry.record)
  const cells = [
    who,
    what === undefined ? '' : JSON.stringify(what),
    ...(reason === undefined ? [] : [reason]),
  ]
  return [time, event.replace(/^configurations?_/, ''), ...(isNamed ? [name] : []), ...cells]
}

/** What an entry says of a change of many, besides who made it and when. */
function countsOf({ time, event, by, kind, command, via, reason, ...counts }: ListedEntry): object {
  return counts
}
