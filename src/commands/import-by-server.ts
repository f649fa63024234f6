import { NoAnswerError } from '../client/call.ts'
import type { Client } from '../client/client.ts'
import { queryOf } from '../client/endpoint.ts'
import { OtherAnswerError } from '../client/refused.ts'
import { type ImportOptions, importQuery } from '../exchange/import-options.ts'
import type { ImportFormatName } from '../exchange/import-reader.ts'
import { isObject } from '../json.ts'
import type { ImportMode } from '../store/authorship.ts'
import type { ImportReport } from './import-report.ts'

export interface ImportFile {
  readonly pieces: readonly Uint8Array[]
  readonly format: ImportFormatName
  readonly mode: ImportMode
  /** Whether it is a trial, which changes nothing. */
  readonly isTrial: boolean
  readonly options: ImportOptions
}

/**
 * Has a server import a file.
 *
 * @throws {UnreachableError} {UntrustedError} {RefusedError} Then nothing has changed.
 * @throws {NoAnswerError} {OtherAnswerError} if it may have been imported; the message says what to do.
 */
export async function importByServer(client: Client, file: ImportFile): Promise<ImportReport> {
  const { pieces: body, format, mode, isTrial, options } = file
  const path = `/v1/import${queryOf({ format, mode, dry_run: isTrial ? 1 : undefined, ...importQuery(options) })}`
  const answer = await client.askJson({ method: 'POST', path, body }).catch((error: unknown) => {
    if (!(error instanceof NoAnswerError) || isTrial) throw error
    const advice = 'whether it has imported the file is not known; run the same command again'
    throw new NoAnswerError(`${error.message}; ${advice}`, { cause: error })
  })
  if (isReport(answer)) return answer
  throw new OtherAnswerError(`${client.endpoint.name} does not say what it has imported; is it a connbook?`)
}

function isReport(input: unknown): input is ImportReport {
  if (!isObject(input)) return false
  return ['added', 'modified', 'removed', 'unchanged'].every((count) => typeof input[count] === 'number')
}
