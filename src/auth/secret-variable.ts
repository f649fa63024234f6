import { createReadStream } from 'node:fs'
import { UsageError } from '../errors.ts'
import { adviceForTilde } from '../shell.ts'
import { checkSecret, readSecret } from './secret-text.ts'

/**
 * The value of a variable, or of the file that `VARIABLE_FILE` names, as a bare line.
 *
 * @returns Undefined if neither is set.
 * @throws {UsageError} if both are set, the file cannot be read, or the value is empty, too long or not UTF-8.
 */
export async function readSecretVariable(
  variable: string,
  environment: NodeJS.ProcessEnv,
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
    return readSecretFile(what, file)
  }
  return isSet(value) ? checkSecret(variable, value) : undefined
}

async function readSecretFile(what: string, file: string): Promise<string> {
  try {
    const text = await readSecret(what, createReadStream(file))
    if (text === '') throw new UsageError(`Cannot use ${what}: it is empty`)
    return text
  } catch (error) {
    if (error instanceof UsageError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`Cannot read ${what}: ${reason}`, { cause: error })
  }
}

/** An empty variable counts as unset. */
export function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== ''
}
