import { ConnbookError, systemCode } from '../errors.ts'

/** Writes to standard output; resolves when the stream has taken the text. */
export type Print = (text: string) => Promise<void>

/** Writing to standard output failed. */
export class OutputError extends ConnbookError {
  readonly code = 'output_failed'
}

/**
 * Prints a text that may be lost: a closed pipe is not an error.
 *
 * @returns Whether somebody may still read.
 * @throws {OutputError} for any other failure.
 */
export async function inform<Text>(print: (text: Text) => Promise<void>, text: Text): Promise<boolean> {
  try {
    await print(text)
    return true
  } catch (error) {
    if (systemCode(error) === 'EPIPE') return false
    throw new OutputError(`Cannot write to standard output (${systemCode(error)})`, { cause: error })
  }
}

/**
 * Waits until required output is printed.
 *
 * @param what Completes "Cannot …": "show the keys".
 * @param state Ends the message: what was done although it could not be shown.
 * @throws {OutputError} for any failure, also a closed pipe. What was to be printed may throw an error of its own.
 */
export async function shown(printing: Promise<void>, what: string, state = ''): Promise<void> {
  await printing.catch((error: unknown) => {
    if (error instanceof ConnbookError) {
      error.message += state
      throw error
    }
    throw new OutputError(`Cannot ${what} (${systemCode(error)})${state}`, { cause: error })
  })
}
