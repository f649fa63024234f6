import { shareOf } from '../budget.ts'
import {
  type ExportSummary,
  exportPieces,
  haveLabels,
  notesNames,
  summarizeExport,
} from '../exchange/export.ts'
import { type ExportFormatName, exportFormatNames, exportFormats } from '../exchange/export-formats.ts'
import { createFairQueue } from '../fair-queue.ts'
import { isUnchanged, suffixedTag } from '../http/header-fields.ts'
import { callerKey, type KeptRecords, type Reply, type Request } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import { FAULTS_MAX } from '../limits.ts'
import type { Content, Parameter } from '../openapi/operation.ts'
import { refTo } from '../openapi/schemas.ts'
import type { LongWork, Scheduler } from '../scheduler.ts'
import { type Access, accessOf } from '../store/access.ts'
import type { Configuration } from '../store/configuration.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import { type Filter, matcherOf } from '../store/record-filter.ts'
import { counted, eitherOf } from '../text.ts'
import { text } from './bodies.ts'
import { keyOfFilter } from './filter-key.ts'
import { filterNames, parseFilter, repeatableFilterNames } from './filter-query.ts'
import { CACHE_CONTROL, checkIfMatch } from './list-reply.ts'
import { choice, filterParameters, searchParameter } from './parameters.ts'
import { checkQuery, chosenOf, parseQuery, type Query } from './query.ts'
import { defineResource } from './resource.ts'

/** Notes of an export, such as the hosts of its groups, that are kept when it has been sent. */
export const SUMMARY_KEPT_BYTES_MAX = 64 * 1024

/** Exports that are prepared at once, of those that note something of records: each has this part of the memory for that. */
export const NOTING_EXPORTS_AT_ONCE_MAX = 2
/** Such exports that wait; one more is refused with 503. */
export const NOTING_EXPORTS_WAITING_MAX = 1_000

const exportParameters: readonly Parameter[] = [
  { ...choice('format', 'The format.', exportFormatNames), isRequired: true },
  choice('skip', '`1` leaves out records that the format cannot express.', ['0', '1']),
  searchParameter,
  ...filterParameters,
]

const exportContent: Content = {
  ...Object.fromEntries(Object.values(exportFormats).map(({ mediaType }) => [essenceOf(mediaType), text])),
  [essenceOf(exportFormats.json.mediaType)]: {
    description: 'With `json` the list, with `ansible-json` an inventory, with `prometheus-sd` targets.',
    anyOf: [
      refTo('Configurations'),
      {
        type: 'object',
        required: ['_meta', 'all'],
        properties: { _meta: { type: 'object' }, all: { type: 'object' } },
      },
      {
        type: 'array',
        items: {
          type: 'object',
          required: ['targets', 'labels'],
          properties: {
            targets: { type: 'array', items: { type: 'string' } },
            labels: { type: 'object', additionalProperties: { type: 'string' } },
          },
        },
      },
    ],
  },
}

/** The records, or those that filters keep, in the format of another tool. */
export const exporting = defineResource({
  handlers: ({ store, scheduler }) => exportHandlers(store, scheduler),
  routes: [
    {
      method: 'GET',
      path: '/v1/export',
      access: 'read',
      limits: 'records',
      summary:
        'gets the records in the format of another tool; needs `format`; optional: `skip`, and the filters of the list',
      answers: '200; 422',
      operation: {
        id: 'exportConfigurations',
        tag: 'exchange',
        parameters: exportParameters,
        isConditional: true,
        answers: {
          200: {
            description: 'The records in the format.',
            headers: [
              'Content-Disposition',
              'ETag',
              'X-Total-Count',
              'X-Left-Out',
              'X-Left-Out-Groups?',
              'X-Warning?',
              'X-Warning-Count?',
            ],
            content: exportContent,
          },
          // The others would have to be found first.
          304: { description: 'No record has changed since the tag of `If-None-Match`.', headers: ['ETag'] },
        },
        problems: ['not_expressible', 'overloaded', 'answer_too_large'],
      },
      handler: 'exportAll',
    },
  ],
})

/** Clients limit the size of all headers, many to 16 KiB. */
const GROUPS_HEADER_CHARACTERS_MAX = 4_000
const WARNINGS_HEADER_CHARACTERS_MAX = 8_000

/** 96 bits of it in the tag of an export. */
const FILTER_KEY_CHARACTERS = 16

const parameterNames = ['format', 'skip', 'q', ...filterNames] as const
const choices = { format: exportFormatNames, skip: ['0', '1'] } as const
const MUST_BE = `must be ${eitherOf(exportFormatNames)}`

interface ExportQuery {
  readonly format: ExportFormatName
  readonly isSkipping: boolean
  readonly filter: Filter | undefined
}

/** Who shares the event loop with callers: the exports that note something, one after the other. */
const NOTING_EXPORTS = 'noting exports'

interface PreparedExport extends ExportSummary {
  /** The tag of the records. */
  readonly tag: string
  readonly pieces: Iterable<string>
  readonly keeps: KeptRecords
}

/** @param notedMax Bytes that exports may note of records while they are prepared, all callers together. */
export function exportHandlers(
  store: ConfigurationStore,
  scheduler: Scheduler,
  notedMax = shareOf('exportNotes'),
) {
  const summaries = new ExportSummaries()
  const queue = createFairQueue(
    NOTING_EXPORTS_AT_ONCE_MAX,
    NOTING_EXPORTS_WAITING_MAX,
    'Too many exports are waiting; try again later',
  )
  return { exportAll }

  async function exportAll(request: Request): Promise<Reply> {
    const query = parseExportQuery(request.query)
    const access = accessOf(request)
    const present = store.tagFor(access)
    const etagOf = (tag: string) => `"${suffixedTag(tag, suffixOf(query, access))}"`
    checkIfMatch(request, `"${present}"`)
    if (isUnchanged(request.headers['if-none-match'], etagOf(present)))
      return { status: 304, headers: { 'Cache-Control': CACHE_CONTROL, ETag: etagOf(present) } }
    const prepared = await prepareInTurn(request, query, access)
    const { form, tag, count, leftOut, obstacles, tail } = prepared
    if (leftOut > 0 && !query.isSkipping) {
      const faults = obstacles.map(({ name, reason }) => ({ field: 'name', name, detail: reason }))
      throw new Problem(
        'not_expressible',
        `Cannot express ${leftOut} of ${counted(count + leftOut, 'record')} as ${query.format}; rename or change them, or leave them out with skip=1`,
        { faults },
      )
    }
    return {
      status: 200,
      headers: {
        'Content-Type': form.mediaType,
        'Content-Length': String(prepared.bytes),
        'Content-Disposition': `attachment; filename="${form.fileName}"`,
        'Cache-Control': CACHE_CONTROL,
        ETag: etagOf(tag),
        'X-Total-Count': String(count),
        'X-Left-Out': String(leftOut),
        ...headerOf('X-Left-Out-Groups', tail?.leftOutGroups ?? [], GROUPS_HEADER_CHARACTERS_MAX),
        ...warningHeaders(prepared),
      },
      body: prepared.pieces,
      keeps: prepared.keeps,
    }
  }

  /** Waits for its turn if it is to note something of records: otherwise many of them would fill the memory. */
  async function prepareInTurn(request: Request, query: ExportQuery, access: Access | undefined) {
    const caller = callerKey(request)
    const known =
      access === undefined && query.filter === undefined ? summaries.find(query.format, store.tag) : undefined
    if (known !== undefined) return preparedOf(known, store.tag, recordsNow())
    if (!notesNames(exportFormats[query.format], store.hasLabels))
      return scheduler.run(caller, prepare(query, access), request.signal)
    await queue.enter([caller])
    try {
      // Not as the caller: behind other works of his, it would keep the place from others.
      return await scheduler.run(NOTING_EXPORTS, prepare(query, access), request.signal)
    } finally {
      queue.leave()
    }
  }

  /** Takes the records of the moment when it begins. */
  function* prepare(
    { format, filter: asked }: ExportQuery,
    access: Access | undefined,
  ): LongWork<PreparedExport> {
    const { id, tag, revision } = store
    const shown = store.tagFor(access)
    const now = recordsNow()
    const { records } = now
    const filter = access === undefined ? asked : access.limit(asked)
    const matches = filter && matcherOf(filter)
    const seen = access?.limit(undefined) === undefined ? undefined : access.sees
    const hasLabels = store.hasLabels && (seen === undefined || (yield* haveLabels(records, seen)))
    const summarize = () =>
      summarizeExport(
        exportFormats[format],
        { store: id, records, hasLabels, matches, seen },
        FAULTS_MAX,
        notedMax / NOTING_EXPORTS_AT_ONCE_MAX,
      )
    const summary =
      matches === undefined
        ? (summaries.find(format, tag) ?? summaries.keep(format, { tag, revision }, yield* summarize()))
        : yield* summarize()
    return preparedOf(summary, shown, now)
  }

  function recordsNow() {
    const { revision, count, jsonBytes } = store
    return { records: store.freeze(), keeps: { revision, records: count, jsonBytes } }
  }
}

/** @param tag That of the records. */
function preparedOf(
  summary: ExportSummary,
  tag: string,
  { records, keeps }: { readonly records: Iterable<Configuration>; readonly keeps: KeptRecords },
): PreparedExport {
  const noted = summary.notedBytes > 0 ? { noted: summary } : {}
  return { ...summary, tag, pieces: exportPieces(records, summary), keeps: { ...keeps, ...noted } }
}

/** @throws {InvalidInputError} naming every faulty parameter. */
function parseExportQuery(text: string): ExportQuery {
  const query: Query<(typeof parameterNames)[number], (typeof repeatableFilterNames)[number]> = parseQuery(
    text,
    parameterNames,
    repeatableFilterNames,
  )
  const { values, faults } = query
  const { format, skip } = values
  chosenOf(
    { values: { ...(format !== undefined && { format }), ...(skip !== undefined && { skip }) }, faults },
    choices,
  )
  if (format === undefined) faults.push({ field: 'format', detail: MUST_BE })
  const filter = parseFilter(query)
  checkQuery(query)
  return { format: format as ExportFormatName, isSkipping: skip === '1', filter }
}

/** Another one for each export of the same records that may have another text. */
function suffixOf({ format, isSkipping, filter = {} }: ExportQuery, access: Access | undefined): string {
  const key = keyOfFilter(filter, access).slice(0, FILTER_KEY_CHARACTERS)
  return `${format}${isSkipping ? '-skip' : ''}-${key}`
}

function warningHeaders({ warnings, warningCount }: ExportSummary): Record<string, string> {
  if (warningCount === 0) return {}
  const texts = warnings.map(({ name, reason }) => `${JSON.stringify(name)} ${reason}`)
  return {
    ...headerOf('X-Warning', texts, WARNINGS_HEADER_CHARACTERS_MAX),
    'X-Warning-Count': String(warningCount),
  }
}

/** As many of the texts as fit, percent-encoded, with commas between them. */
function headerOf(name: string, texts: readonly string[], charactersMax: number): Record<string, string> {
  let value = ''
  for (const text of texts.map(encodeURIComponent)) {
    if (value.length + text.length > charactersMax) break
    value += value === '' ? text : `,${text}`
  }
  return value === '' ? {} : { [name]: value }
}

function essenceOf(mediaType: string): string {
  return mediaType.split(';')[0] ?? mediaType
}

interface KnownSummary {
  readonly tag: string
  readonly revision: number
  readonly summary: ExportSummary | WeakRef<ExportSummary>
}

/**
 * The last summary of each format: those who ask again before a change do not wait, and share its memory. A large one is
 * shared while an export still needs it, and then forgotten.
 */
export class ExportSummaries {
  readonly #known = new Map<ExportFormatName, KnownSummary>()

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
