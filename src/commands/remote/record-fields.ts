import type { QueryValues } from '../../client/endpoint.ts'
import { RefusedError } from '../../client/refused.ts'
import {
  type FlaggedField,
  fieldOption,
  type ListColumn,
  removalOption,
} from '../../command-line/client-options.ts'
import { align, linesOf } from '../../command-line/columns.ts'
import type { CommandInput } from '../../command-line/command.ts'
import { heading, type TerminalStyle } from '../../command-line/terminal-style.ts'
import { UsageError } from '../../errors.ts'
import { encodeLabelCell } from '../../exchange/label-cell.ts'
import { printableJson } from '../../json.ts'
import type { Configuration } from '../../store/configuration.ts'
import { fieldNames, optionalFields, recordFields } from '../../store/fields.ts'
import { labelOf } from '../../store/labels.ts'
import { type Filter, parseLabelFilter } from '../../store/record-filter.ts'
import { escapeHidden } from '../../text.ts'

const flagged = recordFields.filter((field) => 'flag' in field)
const fieldOptions = flagged.map(({ name }) => fieldOption(name))

/** The flags that give a record its values. */
export const fieldFlags = [...fieldOptions, 'label'] as const
/** The flags that take a value from a record. */
export const removalFlags = [...optionalFields.map(removalOption), 'noLabel'] as const
/** The flags that keep some records of a list or of a stream of events. */
export const filterFlags = ['prefix', 'named', ...fieldOptions, 'withLabel'] as const

type FieldOptions = CommandInput<(typeof fieldFlags)[number]>['options']
type RemovalOptions = CommandInput<(typeof removalFlags)[number]>['options']
export type FilterOptions = CommandInput<(typeof filterFlags)[number]>['options']

/** The members of a body; those that were not given are undefined, so that JSON leaves them out. */
export type GivenFields = Readonly<Record<FlaggedField, unknown>> & {
  readonly labels: Readonly<Record<string, string | null>> | undefined
}

/**
 * Text that is not a number stays text; the server refuses it in its own words. What is removed is null.
 *
 * @throws {UsageError} if a field or label is given twice.
 */
export function givenFields(options: FieldOptions & Partial<RemovalOptions>): GivenFields {
  const entries = [...options.label, ...(options.noLabel ?? []).map((key) => [key, null] as const)]
  const labels = new Map(entries)
  if (labels.size < entries.length) {
    const twice = entries.find(([key], i) => entries.findIndex(([other]) => other === key) < i)?.[0]
    throw new UsageError(`The label "${twice}" is given twice; give it once`)
  }
  const removed = new Set<string>(optionalFields.filter((name) => options[removalOption(name)]))
  const fields = flagged.map(({ name, parse }) => {
    const text = options[fieldOption(name)]
    if (!removed.has(name)) return [name, text === undefined ? undefined : parse(text)]
    if (text !== undefined) throw new UsageError(`Give --${name} or --no-${name}, not both`)
    return [name, null]
  })
  return {
    ...(Object.fromEntries(fields) as Record<FlaggedField, unknown>),
    // Unlike an assignment, this makes a member `__proto__`, which the server refuses.
    labels: labels.size === 0 ? undefined : Object.fromEntries(labels),
  }
}

/** As the parameters of a query. */
export function filterValues(options: FilterOptions): QueryValues {
  const fields = flagged.map(({ name }) => [name, options[fieldOption(name)]])
  return {
    prefix: options.prefix,
    name: options.named,
    ...Object.fromEntries(fields),
    label: options.withLabel,
  }
}

/** To judge a record here. What the server would refuse keeps nothing. */
export function filterOf(options: FilterOptions): Filter {
  const { prefix, named: name, withLabel } = options
  const fields = flagged.map(({ name, parse }) => {
    const text = options[fieldOption(name)]
    return [name, text === undefined ? undefined : parse(text)]
  })
  const given = Object.entries({ prefix, name, ...Object.fromEntries(fields) }).filter(
    ([, value]) => value !== undefined,
  )
  const labels = withLabel.map(parseLabelFilter)
  return { ...Object.fromEntries(given), ...(labels.length === 0 ? {} : { labels }) }
}

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

/** The cell of a column; '' if the record has no such value. */
export function cellIn({ shown }: ListColumn, record: Configuration): string {
  if (shown === undefined) return record.labels === undefined ? '' : encodeLabelCell(record.labels)
  const value = 'label' in shown ? labelOf(record.labels, shown.label) : record[shown.field]
  return String(value ?? '')
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

/**
 * Adds each fault that a server found to the message of its refusal, on a line of its own, by the word that was typed.
 *
 * @param typed What was typed for a field, where that is not a flag with the name of the field.
 */
export async function explainFaults<Result>(
  call: Promise<Result>,
  typed: Readonly<Record<string, string>> = {},
): Promise<Result> {
  try {
    return await call
  } catch (error) {
    if (!(error instanceof RefusedError) || error.faults.length === 0) throw error
    const lines = error.faults.map(({ name, field, detail }) => {
      // A fault in the name of a record is about the record: a change of many sets no names.
      if (name !== undefined && field === 'name') return `\n  ${printableJson(name)} ${escapeHidden(detail)}`
      const who = name === undefined ? '' : `${printableJson(name)}: `
      return `\n  ${who}${escapeHidden(typed[field] ?? flagOf(field))} ${escapeHidden(detail)}`
    })
    throw new RefusedError(`${error.message}${lines.join('')}`, error)
  }
}

function flagOf(field: string): string {
  const [, label] = /^labels\.(.+)$/s.exec(field) ?? []
  if (label !== undefined) return `--label ${label}:`
  return `--${field === 'labels' ? 'label' : field}`
}
