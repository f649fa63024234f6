import { NoAnswerError } from '../client/call.ts'
import type { Client } from '../client/client.ts'
import { queryOf } from '../client/endpoint.ts'
import { OtherAnswerError, RefusedError } from '../client/refused.ts'
import type { CommandContext } from '../command-line/command.ts'
import { InvalidInputError } from '../errors.ts'
import { importQuery } from '../exchange/import-options.ts'
import { isObject } from '../json.ts'
import { IMPORT_BYTES_MAX } from '../limits.ts'
import { planImport } from '../store/import-plan.ts'
import { type ImportOrder, readRecords } from './import-records.ts'
import { ImportRefusedError, type ImportReport, linesOf, reportOf } from './import-report.ts'

const TOO_LONG = `it has more than ${IMPORT_BYTES_MAX} bytes, and a running server takes no more; make it several files, or stop the server and name its folder with --data`

/** What an import to a book without records would do. Makes nothing. */
export async function tryOnNothing(order: ImportOrder, context: CommandContext): Promise<ImportReport> {
  const { drafts, read } = await readRecords(order, context)
  return reportOf(planImport(drafts, order.mode, { records: [], find: () => undefined, lastId: 0 }), read)
}

/** Sends a server only what has no fault. Throws as `importByServer` does. */
export async function sendRecords(
  client: Client,
  order: ImportOrder,
  context: CommandContext,
): Promise<ImportReport> {
  const pieces: Buffer[] = []
  let bytes = 0
  const read = await readRecords(order, context, (piece) => {
    bytes += piece.length
    // In a folder without a server it may have any length.
    if (bytes > IMPORT_BYTES_MAX && client.endpoint.folder === undefined)
      throw new InvalidInputError(TOO_LONG)
    pieces.push(Buffer.from(piece))
  })
  try {
    return { ...(await importByServer(client, order, pieces)), read: read.read }
  } catch (cause) {
    if (!(cause instanceof RefusedError)) throw cause
    if (cause.problem === 'body_too_large')
      throw new ImportRefusedError(`Cannot import ${order.source}: ${TOO_LONG}; nothing has changed`, {
        cause,
      })
    if (cause.faults.length === 0) throw cause
    // Lines of a resolved SSH configuration are not those of the file.
    const faults = cause.faults.map((fault) => ({ ...fault, ...read.locationOf?.(fault.name ?? '') }))
    throw new ImportRefusedError([cause.message, ...linesOf(faults)].join('\n'), { cause })
  }
}

/**
 * Has a server import a file.
 *
 * @throws {UnreachableError} {UntrustedError} {RefusedError} Then nothing has changed.
 * @throws {NoAnswerError} {OtherAnswerError} if it may have been imported; the message says what to do.
 */
async function importByServer(
  client: Client,
  { format, mode, isTrial, options }: ImportOrder,
  body: readonly Uint8Array[],
): Promise<ImportReport> {
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
