import { ConnbookError, type Fault } from '../errors.ts'
import { printableJson } from '../json.ts'
import { IMPORT_NAMES_LISTED_MAX } from '../limits.ts'
import { countsOf, type ImportPlan } from '../store/import-plan.ts'
import { counted, escapeHidden } from '../text.ts'
import type { ImportOrder } from './import-call.ts'

/** What an import has done, or what a trial would do; as `POST /v1/import` answers it. */
export interface ImportReport {
  readonly added: number
  readonly modified: number
  readonly removed: number
  readonly unchanged: number
  /** Only of a dry run: the first IMPORT_NAMES_LISTED_MAX names of each kind. */
  readonly names?: Readonly<Record<'added' | 'modified' | 'removed', readonly string[]>>
}

export function reportOf(plan: ImportPlan): ImportReport {
  const first = (records: readonly { readonly name: string }[]) =>
    records.slice(0, IMPORT_NAMES_LISTED_MAX).map(({ name }) => name)
  const modified = plan.modified.map(({ after }) => after)
  const names = { added: first(plan.added), modified: first(modified), removed: first(plan.removed) }
  return { ...countsOf(plan), names }
}

/** @param place A server or a data folder. */
export function describeDone({ added, modified, removed, unchanged }: ImportReport, place: string): string {
  return `Imported to ${place}: ${added} added, ${modified} modified, ${removed} removed, ${unchanged} unchanged\n`
}

export function describeTried({ added, modified, removed, unchanged, names }: ImportReport): string {
  const kinds = [
    ['add', added, names?.added],
    ['modify', modified, names?.modified],
    ['remove', removed, names?.removed],
  ] as const
  const lines = kinds.flatMap(([verb, count, listed = []]) => {
    const rest = count - listed.length
    return [
      ...listed.map((name) => `  ${verb} ${printableJson(name)}\n`),
      ...(rest > 0 ? [`  ${verb} ${rest} more\n`] : []),
    ]
  })
  return `Would add ${added}, modify ${modified}, remove ${removed}; ${unchanged} unchanged\n${lines.join('')}`
}

/** The file has faults; nothing has changed. */
export class ImportRefusedError extends ConnbookError {
  readonly code = 'import_refused'
}

/** A fault, in the file that was named or in one that it includes. */
export interface FileFault extends Fault {
  readonly file?: string | undefined
}

/**
 * @param faults The first of them.
 * @param isAnyHostLeft Of an SSH configuration: whether `--skip` would import something.
 */
export function refusal(
  { source, format }: ImportOrder,
  faults: readonly FileFault[],
  faultCount: number,
  isAnyHostLeft = false,
): ImportRefusedError {
  const rest = faultCount - faults.length
  const advice = isAnyHostLeft
    ? '; correct them, or leave these lines and hosts out with --skip'
    : '; without what they name no host is left; correct some of them'
  return new ImportRefusedError(
    `Cannot import ${source}: ${counted(faultCount, 'fault')}; nothing has changed${format === 'ssh-config' ? advice : ''}\n` +
      linesOf(faults).join('\n') +
      (rest > 0 ? `\n  and ${rest} more` : ''),
  )
}

export function linesOf(faults: readonly FileFault[]): string[] {
  return faults.map((fault) => `  ${describeFault(fault)}`)
}

function describeFault({ file, line, name, field, detail }: FileFault): string {
  const places = [
    ...(file === undefined ? [] : [JSON.stringify(file)]),
    ...(line === undefined ? [] : [`line ${line}`]),
    ...(name === undefined ? [] : [JSON.stringify(name)]),
  ]
  return escapeHidden(`${places.join(', ')}: ${JSON.stringify(field).slice(1, -1)} ${detail}`)
}
