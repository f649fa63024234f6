import { ConnbookError, type Fault } from '../errors.ts'
import { printable } from '../json.ts'
import { counted } from '../text.ts'
import type { ImportOrder } from './import-call.ts'

/** The file has faults; nothing has changed. */
export class ImportRefusedError extends ConnbookError {
  readonly code = 'import_refused'
}

/** A fault, in the file that was named or in one that it includes. */
export interface FileFault extends Fault {
  readonly file?: string | undefined
}

/** @param faults The first of them. */
export function refusal(
  { source, format, isSkipping = false }: ImportOrder,
  faults: readonly FileFault[],
  faultCount: number,
): ImportRefusedError {
  const rest = faultCount - faults.length
  const advice = isSkipping
    ? '; --skip would leave no host; correct some of them'
    : '; correct them, or leave these lines and hosts out with --skip'
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
  return printable(`${places.join(', ')}: ${JSON.stringify(field).slice(1, -1)} ${detail}`)
}
