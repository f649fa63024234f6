import type { OpenResponse } from '../client/call.ts'
import type { Client } from '../client/client.ts'
import { queryOf } from '../client/paths.ts'
import { OtherAnswerError, RefusedError } from '../client/refused.ts'
import type { Fault } from '../errors.ts'
import { type ExportFormatName, exportFormats } from '../exchange/export-formats.ts'

/** An export that a server begins to send. */
export interface ServedExport {
  readonly body: OpenResponse['body']
  /** The first of the records that are left out, by name; undefined if none are. */
  readonly leftOut: readonly Fault[] | undefined
  /** The first groups that the format cannot have; their records are in the export. */
  readonly leftOutGroups: readonly string[]
}

/**
 * Asks a server for all records in the format of another tool.
 *
 * @param isSkipping Whether records that the format cannot express are left out.
 * @throws {RefusedError} also if there are such records, and they are not left out: its faults name the first ones.
 */
export async function exportByServer(
  client: Client,
  format: ExportFormatName,
  isSkipping: boolean,
): Promise<ServedExport> {
  const ask = async (skip?: 1) => {
    const path = `/v1/export${queryOf({ format, skip })}`
    const { headers, body } = await client.open({ method: 'GET', path })
    if (typeOf(headers['content-type']) === typeOf(exportFormats[format].mediaType)) {
      const names = [headers['x-left-out-groups'] ?? ''].flat().join().split(',')
      return { body, leftOutGroups: names.filter((name) => name !== '').map(decodeURIComponent) }
    }
    await body[Symbol.asyncIterator]().return?.()
    throw new OtherAnswerError(
      `What ${client.endpoint.name} answers is no export as ${format}; is it a connbook?`,
    )
  }
  try {
    return { ...(await ask()), leftOut: undefined }
  } catch (error) {
    // Only the refusal names the records.
    if (!isSkipping || !(error instanceof RefusedError) || error.problem !== 'not_expressible') throw error
    return { ...(await ask(1)), leftOut: error.faults }
  }
}

/** A media type without its parameters. */
function typeOf(text = ''): string {
  return text.replace(/\s*;.*/s, '').toLowerCase()
}
