import { constants, createReadStream, openSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { Socket } from 'node:net'
import { addAbortSignal, type Readable } from 'node:stream'
import { UsageError } from '../errors.ts'
import { adviceForTilde } from '../shell.ts'
import { checkSecret, readSecret } from './secret-text.ts'

/**
 * The value of a variable, or of the file that `VARIABLE_FILE` names, as a bare line.
 *
 * @param signal Ends the wait for somebody who writes into a pipe.
 * @returns Undefined if neither is set.
 * @throws The reason of the signal.
 * @throws {UsageError} if both are set, the file cannot be read, or the value is empty, too long or not UTF-8.
 */
export async function readSecretVariable(
  variable: string,
  environment: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const value = environment[variable]
  const file = environment[`${variable}_FILE`]
  if (isSet(value) && isSet(file)) {
    throw new UsageError(`Cannot use both ${variable} and ${variable}_FILE; set one of them`)
  }
  if (isSet(file)) {
    const what = `${variable}_FILE "${file}"`
    const advice = adviceForTilde(file)
    if (advice !== undefined)
      throw new UsageError(`Cannot read ${what}: no shell has replaced the "~" at its beginning; ${advice}`)
    return readSecretFile(what, file, signal)
  }
  return isSet(value) ? checkSecret(variable, value) : undefined
}

async function readSecretFile(what: string, file: string, signal?: AbortSignal): Promise<string> {
  try {
    const source = await openSource(file)
    const text = await readSecret(what, signal === undefined ? source : addAbortSignal(signal, source))
    if (text === '') throw new UsageError(`Cannot use ${what}: it is empty`)
    return text
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof UsageError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`Cannot read ${what}: ${reason}`, { cause: error })
  }
}

/** Opening a pipe as a file would hold up a thread, and so the end of the process, until somebody writes. */
async function openSource(file: string): Promise<Readable> {
  if (!(await stat(file)).isFIFO()) return createReadStream(file)
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  return new Socket({ fd, readable: true, writable: false })
}

/** An empty variable counts as unset. */
export function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== ''
}
