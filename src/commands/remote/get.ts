import { OtherAnswerError } from '../../client/refused.ts'
import { type AnsweredRecord, readRecord } from '../../client/served-record.ts'
import { defineCommand } from '../../command-line/command.ts'
import { recordExitCodes } from '../../command-line/exit-codes.ts'
import type { Options } from '../../command-line/options.ts'
import { shown } from '../../command-line/output.ts'
import type { TerminalStyle } from '../../command-line/terminal-style.ts'
import { UsageError } from '../../errors.ts'
import { labelOf } from '../../store/labels.ts'
import { quoted } from './changes.ts'
import { clientFlags, connect } from './connect.ts'
import { forEachName, NAMES_NOTE, NoValueError, readNames } from './given-names.ts'
import { describeRecord, tabLine } from './record-fields.ts'

export const getCommand = defineCommand({
  name: 'get',
  operands: 'NAME…',
  operandsMax: Number.POSITIVE_INFINITY,
  completes: 'records',
  summary: 'show records, or one value of each',
  examples: [
    ['connbook get web1', 'its fields and labels'],
    ['connbook get web1 --field hostname', 'one value alone'],
    ['connbook get web1 web2 --json', 'an object a line'],
    ['connbook get web1 --tag', 'for set --if-match'],
  ],
  notes: [NAMES_NOTE],
  flags: [...clientFlags, 'json', 'field', 'tag'],
  exitCodes: { ...recordExitCodes, 1: 'something else, such as a label that the record does not have' },
  async run(input, context) {
    const { options, operands } = input
    const { style, print } = context
    if ([options.json, options.field !== undefined, options.tag].filter(Boolean).length > 1)
      throw new UsageError('Give only one of --json, --field and --tag')
    const names = await readNames(operands, context)
    const client = await connect(input, context, 'get')
    // Between records of several lines.
    const isApart = style.isTerminal && !options.json && !options.tag && options.field === undefined
    let isFirst = true
    await forEachName(client, names, async (name) => {
      const text = textOf(await readRecord(client, name), options, style)
      await shown(print(isApart && !isFirst ? `\n${text}` : text), 'show the record')
      isFirst = false
    })
  },
})

function textOf(
  found: AnsweredRecord,
  { json, field, tag }: Pick<Options, 'json' | 'field' | 'tag'>,
  style: TerminalStyle,
): string {
  if (json) return `${found.json}\n`
  if (tag) {
    if (found.tag !== undefined) return `${found.tag}\n`
    throw new OtherAnswerError('The answer has no ETag; does a proxy remove it?')
  }
  const { record } = found
  if (field === undefined) return style.isTerminal ? describeRecord(record, style) : `${tabLine(record)}\n`
  if ('label' in field) {
    const value = labelOf(record.labels, field.label)
    if (value !== undefined) return `${value}\n`
    throw new NoValueError(`${quoted(record.name)} has no label ${quoted(field.label)}`)
  }
  const value = record[field.field]
  if (value === undefined) throw new NoValueError(`${quoted(record.name)} has no ${field.field}`)
  return `${value}\n`
}
