import type { Client } from '../client/client.ts'
import { queryOf } from '../client/endpoint.ts'
import type { OpenResponse } from '../client/messages.ts'
import { OtherAnswerError, RefusedError } from '../client/refused.ts'
import type { Print } from '../command-line/output.ts'
import { type ExportFormatName, exportFormats } from '../exchange/export-formats.ts'
import { escapeHidden } from '../text.ts'
import { leftOutGroupsText, leftOutText, namedFaults, refusedExport, warningsText } from './export-remarks.ts'

/** What is exported, and how. */
export interface WantedExport {
  readonly format: ExportFormatName
  /** Whether records that the format cannot express are left out. */
  readonly skip: boolean
  /** The filters as the query of a list; '' without any. */
  readonly query: string
}

/** An export that a server begins to send. */
export interface ServedExport {
  /** The tag of the records, as the list has it; undefined if a proxy removes it. */
  readonly tag: string | undefined
  /** Warnings and what was left out, in lines for standard error. */
  readonly remarks: string
  readonly write: (print: Print) => Promise<void>
}

/**
 * Asks a server for an export.
 *
 * @param signal Ends it.
 * @throws {ExportRefusedError} also as `Client.open` does, and so does `write`.
 */
export async function openServedExport(
  client: Client,
  { query, format, skip }: WantedExport,
  signal?: AbortSignal,
): Promise<ServedExport> {
  try {
    const { tag, body, leftOut, leftOutGroups, warnings, warningCount } = await exportByServer(
      client,
      { query, format, skip },
      signal,
    )
    const left = leftOut === undefined ? '' : leftOutText(...refusedIn(leftOut, format))
    return {
      tag,
      remarks: leftOutGroupsText(leftOutGroups, format) + warningsText(warnings, warningCount) + left,
      write: (print) => writeBytes(body, print),
    }
  } catch (error) {
    if (!(error instanceof RefusedError) || error.problem !== 'not_expressible') throw error
    throw refusedExport(...refusedIn(error, format), { cause: error })
  }
}

/** What a format cannot express: "2 of 5 records as csv", as the server counts them, and the first of them. */
function refusedIn({ message, faults }: RefusedError, format: ExportFormatName) {
  const [counts = 'records'] = /\d+ of \d+ records?/.exec(message) ?? []
  return [`${counts} as ${format}`, namedFaults(faults)] as const
}

/** A character may be split between two pieces. */
export async function writeBytes(body: AsyncIterable<Uint8Array>, print: Print) {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  for await (const bytes of body) await print(decoder.decode(bytes, { stream: true }))
}

/** What a server answers. */
interface AnsweredExport {
  readonly tag: string | undefined
  readonly body: OpenResponse['body']
  /** The refusal that counts and names the records which are left out; undefined if none are. */
  readonly leftOut: RefusedError | undefined
  /** The first groups that the format cannot have; their records are in the export. */
  readonly leftOutGroups: readonly string[]
  /** The first ones. */
  readonly warnings: readonly string[]
  readonly warningCount: number
}

/**
 * Asks a server for records in the format of another tool.
 *
 * @throws {RefusedError} also if there are such records, and they are not left out: its faults name the first ones.
 */
async function exportByServer(
  client: Client,
  { query, format, skip: isSkipping }: WantedExport,
  signal: AbortSignal | undefined,
): Promise<AnsweredExport> {
  const ask = async (skip?: 1) => {
    const { headers, body } = await openExport(client, { query, format }, skip, signal)
    return {
      tag: headers.etag,
      body,
      leftOutGroups: textsOf(headers['x-left-out-groups']),
      warnings: textsOf(headers['x-warning']).map(escapeHidden),
      warningCount: Number(headers['x-warning-count'] ?? 0),
    }
  }
  try {
    return { ...(await ask()), leftOut: undefined }
  } catch (error) {
    // Only the refusal names the records.
    if (!isSkipping || !(error instanceof RefusedError) || error.problem !== 'not_expressible') throw error
    return { ...(await ask(1)), leftOut: error }
  }
}

/**
 * Asks for an export. Resolves once its head is there.
 *
 * @throws {OtherAnswerError} if something else comes. Also throws as `Client.open` does.
 */
export async function openExport(
  client: Client,
  { query, format }: Pick<WantedExport, 'query' | 'format'>,
  skip?: 1,
  signal?: AbortSignal,
): Promise<OpenResponse> {
  const path = `/v1/export${queryOf({ format, skip })}${query === '' ? '' : `&${query}`}`
  const answer = await client.open({ method: 'GET', path }, signal)
  if (typeOf(answer.headers['content-type']) === typeOf(exportFormats[format].mediaType)) return answer
  await answer.body[Symbol.asyncIterator]().return?.()
  throw new OtherAnswerError(`${client.endpoint.name} answers no export as ${format}; is it a connbook?`)
}

/** Percent-encoded texts with commas between them. */
function textsOf(header: string | readonly string[] = ''): string[] {
  const texts = [header].flat().join().split(',')
  return texts.filter((text) => text !== '').map(decoded)
}

/** As it is, if a proxy has spoilt it. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** A media type without its parameters. */
function typeOf(text = ''): string {
  return text.replace(/\s*;.*/s, '').toLowerCase()
}
