import type { HistoryEntry } from '../../audit/history-entry.ts'
import { queryOf } from '../../client/endpoint.ts'
import { OtherAnswerError } from '../../client/refused.ts'
import { alignColumns, linesOf } from '../../command-line/columns.ts'
import { defineCommand } from '../../command-line/command.ts'
import { recordExitCodes } from '../../command-line/exit-codes.ts'
import { shown } from '../../command-line/output.ts'
import { isObject } from '../../json.ts'
import { escapeHidden } from '../../text.ts'
import { clientFlags, connect } from './connect.ts'
import { explainFaults } from './record-fields.ts'

export const historyCommand = defineCommand({
  name: 'history',
  operands: 'NAME',
  completes: 'records',
  summary: 'show what happened to a record, and who did it',
  examples: [
    ['connbook history web1', 'newest first'],
    ['connbook history web1 --limit 1 --json', ''],
  ],
  server: 'running',
  flags: [...clientFlags, 'limit', 'json'],
  exitCodes: recordExitCodes,
  async run(input, context) {
    const {
      options: { limit, json },
      operands: [name = ''],
    } = input
    const client = await connect(input, context, 'history')
    const path = `/v1/history/${encodeURIComponent(name)}${queryOf({ limit })}`
    const answered = await explainFaults(client.askJson({ method: 'GET', path }))
    const { history: entries, since } = isObject(answered) ? answered : {}
    if (!Array.isArray(entries) || !entries.every(isEntry))
      throw new OtherAnswerError(
        `What ${client.endpoint.name} answers is not a history; is it an older connbook?`,
      )
    const { style, print, screen } = context
    const seen = style.isTerminal ? escapeHidden : (text: string) => text
    const rows = entries.map((entry) => cellsOf(entry).map(seen))
    const text = json
      ? entries.map((entry) => seen(JSON.stringify(entry)))
      : style.isTerminal
        ? alignColumns(['TIME', 'EVENT', 'BY', 'CHANGED'], rows, style)
        : rows.map((row) => row.join('\t'))
    await shown(print(linesOf(text)), 'show the history')
    if (style.isTerminal) screen.write(`Complete since ${escapeHidden(String(since))}\n`)
  },
})

type Entry = Pick<HistoryEntry, 'time' | 'by' | 'command'> & {
  readonly event: string
  readonly changed?: unknown
  readonly record?: unknown
}

function isEntry(input: unknown): input is Entry {
  if (!isObject(input)) return false
  const { time, event, by = '', command = '' } = input
  return [time, event, by, command].every((member) => typeof member === 'string')
}

function cellsOf({ time, event, by = '', command, changed, record }: Entry): string[] {
  const who = command === undefined ? by : `${by} (${command})`
  const what = changed ?? record
  return [time, event.replace('configuration_', ''), who, what === undefined ? '' : JSON.stringify(what)]
}
