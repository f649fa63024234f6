import { ConnbookError, systemCode } from '../errors.ts'

/** Writes to standard output; resolves when that has taken the text. */
export type Print = (text: string) => Promise<void>

/** Standard output did not take what a command has to show. */
export class OutputError extends ConnbookError {
  readonly code = 'output_failed'
}

/**
 * Prints what nobody misses when the reader of the pipe has gone.
 *
 * @throws {OutputError} when it fails otherwise.
 */
export async function inform(print: Print, text: string): Promise<void> {
  await print(text).catch((error: unknown) => {
    if (systemCode(error) === 'EPIPE') return
    throw new OutputError(`Cannot write to standard output (${systemCode(error)})`, { cause: error })
  })
}

/**
 * Waits for what a command has to show to be printed.
 *
 * @param what Its place in "Cannot …": "show the keys".
 * @param state What holds although nobody was shown it; ends the message.
 * @throws {OutputError} when that fails, also when the reader of the pipe has gone.
 */
export async function shown(printing: Promise<void>, what: string, state = ''): Promise<void> {
  await printing.catch((error: unknown) => {
    throw new OutputError(`Cannot ${what} (${systemCode(error)})${state}`, { cause: error })
  })
}
