import { type Answer, NoAnswerError } from '../client/call.ts'
import { callAsOwner } from '../client/owner-call.ts'
import { ConnbookError, type Fault } from '../errors.ts'
import type { ImportFormatName } from '../exchange/import-formats.ts'
import { commandActor } from '../folder/command-audit.ts'
import { isObject, parseJson } from '../json.ts'
import type { ImportMode } from '../store/import-mode.ts'
import type { ImportReport } from './import-report.ts'

/** The server has not imported; nothing has changed. */
export class ServerRefusedError extends ConnbookError {
  readonly code = 'server_refused'
  readonly faults: readonly Fault[]

  constructor(message: string, faults: readonly Fault[]) {
    super(message)
    this.faults = faults
  }
}

export interface ImportFile {
  readonly pieces: readonly Uint8Array[]
  readonly format: ImportFormatName
  readonly mode: ImportMode
  /** Whether it is a trial, which changes nothing. */
  readonly isTrial: boolean
}

/**
 * Has the server of a data folder import a file.
 *
 * @param socketPath From `findOwnerSocket`.
 * @throws {UnreachableError} {ServerRefusedError} Then nothing has changed.
 * @throws {NoAnswerError} if it may have been imported; its message says what to do.
 */
export async function importByServer(socketPath: string, file: ImportFile): Promise<ImportReport> {
  const { pieces, format, mode, isTrial } = file
  const path = `/v1/import?format=${format}&mode=${mode}${isTrial ? '&dry_run=1' : ''}`
  const call = { method: 'POST', path, body: pieces } as const
  const answer = await callAsOwner(socketPath, commandActor('import'), call).catch((error: unknown) => {
    if (!(error instanceof NoAnswerError) || isTrial) throw error
    const advice = 'whether it has imported the file is not known; run the same command again'
    throw new NoAnswerError(`${error.message}; ${advice}`, { cause: error })
  })
  if (answer.status === 200) return parseReport(answer)
  const problem = parseJson(answer.text)
  const { detail, errors } = isObject(problem) ? problem : {}
  const message = typeof detail === 'string' ? detail : `The server answers ${answer.status}`
  throw new ServerRefusedError(message, Array.isArray(errors) ? errors.filter(isFault) : [])
}

function parseReport({ text }: Answer): ImportReport {
  const { added, modified, removed, unchanged, names } = parseJson(text) as ImportReport
  return { added, modified, removed, unchanged, ...(names === undefined ? {} : { names }) }
}

function isFault(input: unknown): input is Fault {
  return isObject(input) && typeof input.field === 'string' && typeof input.detail === 'string'
}
