import { ConnbookError, type Fault } from '../errors.ts'
import { counted, escapeHidden } from '../text.ts'
import type { ImportOrder } from './import-call.ts'

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
