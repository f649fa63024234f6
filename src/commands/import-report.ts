import { type ShownChange, shownModifications } from '../audit/shown-changes.ts'
import { ConnbookError } from '../errors.ts'
import { countFaults, type FileFault } from '../exchange/found-faults.ts'
import type { ImportFormatName, ReadForm } from '../exchange/import-reader.ts'
import type { ImportWarning } from '../exchange/row.ts'
import { printableJson } from '../json.ts'
import { IMPORT_NAMES_LISTED_MAX } from '../limits.ts'
import type { ImportPlan } from '../store/bulk-change.ts'
import { countsOf } from '../store/import-plan.ts'
import { allOf, counted, escapeHidden } from '../text.ts'
import { describeModification } from './changed-values.ts'

/** What an import has done, or what a trial would do; as `POST /v1/import` answers it. */
export interface ImportReport {
  readonly added: number
  readonly modified: number
  readonly removed: number
  readonly unchanged: number
  /** Only of a dry run: the first IMPORT_NAMES_LISTED_MAX names of each kind. */
  readonly names?: Readonly<Record<'added' | 'modified' | 'removed', readonly string[]>>
  /** Only of a dry run of a connbook that says so: the first modifications. */
  readonly changed?: readonly ShownChange[]
  /** Only of a dry run, and not of an SSH configuration, which may be several files. */
  readonly read?: ReadForm | undefined
}

export function reportOf(plan: ImportPlan, read?: ReadForm): ImportReport {
  const first = (records: readonly { readonly name: string }[]) =>
    records.slice(0, IMPORT_NAMES_LISTED_MAX).map(({ name }) => name)
  const modified = plan.modified.map(({ after }) => after)
  const names = { added: first(plan.added), modified: first(modified), removed: first(plan.removed) }
  return { ...countsOf(plan), names, changed: shownModifications(plan), read }
}

/** @param place A server or a data folder. */
export function describeDone({ added, modified, removed, unchanged }: ImportReport, place: string): string {
  return `Imported to ${place}: ${added} added, ${modified} modified, ${removed} removed, ${unchanged} unchanged\n`
}

export function describeTried(report: ImportReport): string {
  const { added, modified, removed, unchanged, names, changed = [], read } = report
  const changes = new Map(changed.map((one) => [one.name, one.changed]))

  const lineOf = (verb: string, name: string) =>
    verb === 'modify' ? describeModification(name, changes.get(name)) : `${verb} ${printableJson(name)}`
  const kinds = [
    ['add', added, names?.added],
    ['modify', modified, names?.modified],
    ['remove', removed, names?.removed],
  ] as const
  const lines = kinds.flatMap(([verb, count, listed = []]) => {
    const rest = count - listed.length
    return [
      ...listed.map((name) => `  ${lineOf(verb, name)}\n`),
      ...(rest > 0 ? [`  ${verb} ${rest} more\n`] : []),
    ]
  })
  return `${read === undefined ? '' : describeRead(read)}Would add ${added}, modify ${modified}, remove ${removed}; ${unchanged} unchanged\n${lines.join('')}`
}

/** The file has faults; nothing has changed. */
export class ImportRefusedError extends ConnbookError {
  readonly code = 'import_refused'
}

/**
 * @param faults The first of them.
 * @param isAnyLeft Whether `--skip` would import something.
 */
export function refusal(
  { source, format }: { readonly source: string; readonly format: ImportFormatName },
  faults: readonly FileFault[],
  faultCount: number,
  isAnyLeft: boolean,
): ImportRefusedError {
  const isOfSsh = format === 'ssh-config'
  const what = isOfSsh ? 'lines and hosts' : 'records'
  const none = isOfSsh ? '; without what they name no host is left; correct some of them' : ''
  const advice = isAnyLeft ? `; correct them, or leave these ${what} out with --skip` : none
  return new ImportRefusedError(
    `Cannot import ${source}: ${counted(faultCount, 'fault')}; nothing has changed${advice}\n` +
      linesOf(faults, faultCount).join('\n'),
  )
}

/** @param count All faults, also those that are not listed. */
export function linesOf(faults: readonly FileFault[], count = countFaults(faults)): string[] {
  const rest = count - countFaults(faults)
  return [...faults.map((fault) => `  ${describeFault(fault)}`), ...(rest > 0 ? [`  and ${rest} more`] : [])]
}

/** One line, without its end. */
export function describeWarning(source: string, { line, name, detail }: ImportWarning): string {
  const places = [
    source,
    ...(line === undefined ? [] : [`line ${line}`]),
    ...(name === undefined ? [] : [name]),
  ]
  return escapeHidden(`${places.join(', ')}: ${detail}`)
}

/** How a dry run read the file: a line, and one a column of CSV. */
function describeRead({ encoding, separator, columns = [] }: ReadForm): string {
  const separated = separator === undefined ? '' : `, separated by ${JSON.stringify(separator)}`
  const lines = columns.map(({ column, becomes }) => {
    const what = typeof becomes === 'string' ? `becomes ${becomes}` : 'is left out'
    return `  ${printableJson(column)} ${what}\n`
  })
  return `Read as ${encoding}${separated}\n${lines.join('')}`
}

function describeFault({ file, line, lines, more = 0, name, field, detail }: FileFault): string {
  const rest = more > 0 ? [`${more} more`] : []
  const places = [
    ...(file === undefined ? [] : [JSON.stringify(file)]),
    ...(lines !== undefined ? [`lines ${allOf([...lines.map(String), ...rest])}`] : []),
    ...(line === undefined || lines !== undefined ? [] : [`line ${line}`]),
    ...(name === undefined
      ? []
      : [JSON.stringify(name) + (lines === undefined ? rest.map((text) => ` and ${text}`).join('') : '')]),
  ]
  const place = places.length === 0 ? '' : `${places.join(', ')}: `
  return escapeHidden(`${place}${JSON.stringify(field).slice(1, -1)} ${detail}`)
}
