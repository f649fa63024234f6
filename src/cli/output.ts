import { ConnbookError } from '../errors.ts'

/** Writes to standard output; resolves when that has taken the text. */
export type Print = (text: string) => Promise<void>

/** Standard output did not take what a command has to show. */
export class OutputError extends ConnbookError {
  readonly code = 'output_failed'
}
