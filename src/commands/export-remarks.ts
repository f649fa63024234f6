import { ConnbookError, type Fault } from '../errors.ts'
import { EXPORT_WARNINGS_MAX, type RecordRemark } from '../exchange/export.ts'
import type { ExportFormatName } from '../exchange/export-formats.ts'
import { printableJson } from '../json.ts'
import { escapeHidden } from '../text.ts'

const REMEDY = 'Nothing was written; rename or change them, or leave them out with --skip'

/** The format cannot express some records, and `--skip` was not given. */
export class ExportRefusedError extends ConnbookError {
  readonly code = 'not_expressible'
}

/** @param what What cannot be exported: "2 of 5 records as csv". @param obstacles Their reasons escaped. */
export function refusedExport(what: string, obstacles: readonly RecordRemark[], options?: ErrorOptions) {
  return new ExportRefusedError(`Cannot export ${what}:\n${listOf(obstacles)}${REMEDY}`, options)
}

/** Lines that name records which are left out. @param what As in `refusedExport`. @param obstacles Their reasons escaped. */
export function leftOutText(what: string, obstacles: readonly RecordRemark[]): string {
  return `connbook: Left out ${what}:\n${listOf(obstacles)}`
}

/** A line that names groups which are left out; '' without any. */
export function leftOutGroupsText(names: readonly string[], format: ExportFormatName): string {
  if (names.length === 0) return ''
  const list = names.map((name) => printableJson(name)).join(', ')
  return `connbook: Left out groups that ${format} cannot have: ${list}; their hosts are in the export\n`
}

/** The lines of the first warnings; '' without any. @param warnings Escaped. @param count Of all. */
export function warningsText(warnings: readonly string[], count: number): string {
  if (count === 0) return ''
  const more = count - warnings.length
  const lines = warnings.slice(0, EXPORT_WARNINGS_MAX).map((text) => `  ${text}\n`)
  return `connbook: Warnings:\n${lines.join('')}${more > 0 ? `  and ${more} more\n` : ''}`
}

export function escaped({ name, reason }: RecordRemark): RecordRemark {
  return { name, reason: escapeHidden(reason) }
}

export function namedFaults(faults: readonly Fault[]): RecordRemark[] {
  return faults.map(({ name = '', detail }) => ({ name, reason: escapeHidden(detail) }))
}

function listOf(obstacles: readonly RecordRemark[]): string {
  return obstacles.map(({ name, reason }) => `  ${printableJson(name)} ${reason}\n`).join('')
}
