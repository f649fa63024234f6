import { InvalidInputError } from '../errors.ts'
import { type ExportSummary, exportPieces, summarizeExport } from '../exchange/export.ts'
import {
  type ExportFormatName,
  exportFormatNames,
  exportFormats,
  formatFor,
} from '../exchange/export-formats.ts'
import { callerKey, type KeptRecords, type Reply, type Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { FAULTS_MAX } from '../limits.ts'
import type { Content, Parameter } from '../openapi/operation.ts'
import { refTo } from '../openapi/schemas.ts'
import type { LongWork, Scheduler } from '../scheduler.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { counted, eitherOf } from '../text.ts'
import { text } from './bodies.ts'
import { choice } from './parameters.ts'
import { parseChoices } from './query.ts'
import { defineResource } from './resource.ts'

/** Notes of an export, such as the hosts of its groups, that are kept when it has been sent. */
export const SUMMARY_KEPT_BYTES_MAX = 64 * 1024

const exportParameters: readonly Parameter[] = [
  { ...choice('format', 'The format.', exportFormatNames), isRequired: true },
  choice('skip', '`1` leaves out records that the format cannot express.', ['0', '1']),
]

const exportContent: Content = {
  ...Object.fromEntries(Object.values(exportFormats).map(({ mediaType }) => [essenceOf(mediaType), text])),
  [essenceOf(exportFormats.json.mediaType)]: refTo('Configurations'),
}

/** All records in the format of another tool. */
export const exporting = defineResource({
  handlers: ({ store, scheduler }) => exportHandlers(store, scheduler),
  routes: [
    {
      method: 'GET',
      path: '/v1/export',
      access: 'read',
      summary: 'gets all records in the format of another tool; needs `format`; optional: `skip`',
      answers: '200; 422',
      operation: {
        id: 'exportConfigurations',
        tag: 'exchange',
        parameters: exportParameters,
        answers: {
          200: {
            description: 'The records in the format.',
            headers: ['Content-Disposition', 'X-Total-Count', 'X-Left-Out', 'X-Left-Out-Groups?'],
            content: exportContent,
          },
        },
        problems: ['not_expressible'],
      },
      handler: 'exportAll',
    },
  ],
})

const GROUPS_HEADER_CHARACTERS_MAX = 4_000

const MUST_BE = `must be ${eitherOf(exportFormatNames)}`

interface PreparedExport extends ExportSummary {
  readonly pieces: Iterable<string>
  readonly keeps: KeptRecords
}

export function exportHandlers(store: ConfigurationStore, scheduler: Scheduler) {
  const summaries = new ExportSummaries()
  return { exportAll }

  async function exportAll(request: Request): Promise<Reply> {
    const query = parseChoices(request.query, { format: exportFormatNames, skip: ['0', '1'] })
    if (query.format === undefined) {
      throw new InvalidInputError('The query is not valid', [{ field: 'format', detail: MUST_BE }])
    }
    const prepared = await scheduler.run(callerKey(request), prepare(query.format), request.signal)
    const { count, leftOut, obstacles, tail } = prepared
    if (leftOut > 0 && query.skip !== '1') {
      const faults = obstacles.map(({ name, reason }) => ({ field: 'name', name, detail: reason }))
      throw new Problem(
        'not_expressible',
        `Cannot express ${leftOut} of ${counted(count + leftOut, 'record')} as ${query.format}; rename or change them, or leave them out with skip=1`,
        { faults },
      )
    }
    const { mediaType, fileName } = exportFormats[query.format]
    return {
      status: 200,
      headers: {
        'Content-Type': mediaType,
        'Content-Length': String(prepared.bytes),
        'Content-Disposition': `attachment; filename="${fileName}"`,
        'Cache-Control': 'no-cache, private',
        'X-Total-Count': String(count),
        'X-Left-Out': String(leftOut),
        ...groupsHeader(tail?.leftOutGroups ?? []),
      },
      body: prepared.pieces,
      keeps: prepared.keeps,
    }
  }

  /** Takes the records of the moment when it begins. */
  function* prepare(name: ExportFormatName): LongWork<PreparedExport> {
    const { tag, revision, count, jsonBytes, hasLabels } = store
    const format = formatFor(name, hasLabels)
    const records = store.freeze()
    const summary =
      summaries.find(name, tag) ??
      summaries.keep(name, { tag, revision }, yield* summarizeExport(format, records, FAULTS_MAX))
    return {
      ...summary,
      pieces: exportPieces(format, records, summary),
      keeps: { revision, records: count, jsonBytes, ...(summary.notedBytes > 0 ? { noted: summary } : {}) },
    }
  }
}

/** As many of the names as fit: clients limit the size of all headers, many to 16 KiB. */
function groupsHeader(names: readonly string[]): Record<string, string> {
  let value = ''
  for (const name of names.map(encodeURIComponent)) {
    if (value.length + name.length > GROUPS_HEADER_CHARACTERS_MAX) break
    value += value === '' ? name : `,${name}`
  }
  return value === '' ? {} : { 'X-Left-Out-Groups': value }
}

function essenceOf(mediaType: string): string {
  return mediaType.split(';')[0] ?? mediaType
}

interface Known {
  readonly tag: string
  readonly revision: number
  readonly summary: ExportSummary | WeakRef<ExportSummary>
}

/**
 * The last summary of each format: those who ask again before a change do not wait, and share its memory. A large one is
 * shared while an export still needs it, and then forgotten.
 */
export class ExportSummaries {
  readonly #known = new Map<ExportFormatName, Known>()

  find(format: ExportFormatName, tag: string): ExportSummary | undefined {
    const known = this.#known.get(format)
    if (known?.tag !== tag) return undefined
    return known.summary instanceof WeakRef ? known.summary.deref() : known.summary
  }

  /** @returns The summary to use: another caller may have made it meanwhile. */
  keep(
    format: ExportFormatName,
    { tag, revision }: { readonly tag: string; readonly revision: number },
    made: ExportSummary,
  ): ExportSummary {
    const known = this.find(format, tag)
    if (known !== undefined) return known
    const newest = this.#known.get(format)?.revision ?? 0
    if (revision < newest) return made
    const summary = made.notedBytes > SUMMARY_KEPT_BYTES_MAX ? new WeakRef(made) : made
    this.#known.set(format, { tag, revision, summary })
    return made
  }
}
