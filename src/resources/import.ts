import { shownModifications } from '../audit/shown-changes.ts'
import { recordMemoryMax } from '../budget.ts'
import { type Fault, InvalidInputError } from '../errors.ts'
import { countFaults } from '../exchange/found-faults.ts'
import {
  extraColumns,
  inQuery,
  noImportOptions,
  parseImportOptions,
  repeatedParameters,
  separatorWords,
} from '../exchange/import-options.ts'
import { type ImportFormatName, ImportReader, importFormatNames } from '../exchange/import-reader.ts'
import { conditionIn } from '../http/header-fields.ts'
import {
  callerKey,
  checkBodyType,
  isJsonType,
  jsonReply,
  parseMediaType,
  type Reply,
  type Request,
} from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import type { JsonSchema } from '../json-schema.ts'
import {
  BODY_BYTES_MAX,
  FAULTS_MAX,
  IMPORT_BYTES_MAX,
  IMPORT_NAMES_LISTED_MAX,
  IMPORT_ROW_CHARACTERS_MAX,
  IMPORT_ROWS_MAX,
  RECORDS_MEMORY_LEAST_BYTES,
} from '../limits.ts'
import type { Body, Parameter } from '../openapi/operation.ts'
import { refTo } from '../openapi/schemas.ts'
import type { Scheduler } from '../scheduler.ts'
import { importModes } from '../store/authorship.ts'
import type { ImportPlan } from '../store/bulk-change.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import type { BulkOutcome } from '../store/decisions.ts'
import { countsOf } from '../store/import-plan.ts'
import { importMemoryMax, recordMemory } from '../store/record-room.ts'
import { counted } from '../text.ts'
import { json, text } from './bodies.ts'
import { ImportSlot } from './import-slot.ts'
import { CACHE_CONTROL } from './list-reply.ts'
import { choice, filter } from './parameters.ts'
import { checkQuery, chosenOf, parseQuery } from './query.ts'
import { authorOf, reasonHeader } from './reason.ts'
import { defineResource } from './resource.ts'
import type { UnchangedCalls } from './unchanged-calls.ts'

/** Share of the other memory for the body of an import: what is made of it takes some times as much. */
const IMPORT_MEMORY_SHARE = 1 / 12

const importParameters: readonly Parameter[] = [
  choice('format', 'The format of the body; by its type without it.', importFormatNames),
  choice('mode', '`replace` also removes records that are not in the body; `merge` without it.', importModes),
  choice('dry_run', '`1` shows what would change, and changes nothing.', ['0', '1']),
  choice('separator', 'What separates the columns of CSV; found from the header without it.', separatorWords),
  repeated(
    'map',
    'The column of CSV for a field or a label: `hostname:Host Name`, `label.env:Environment`. `:Notes` leaves one out.',
  ),
  choice(
    'extra',
    'Other columns of CSV, and other variables of ansible, become `labels`, or are left out with `ignore`. Without it, columns are an error.',
    extraColumns,
  ),
  repeated('only', 'Leaves out rows of CSV with another value: `Protocol:SSH`.'),
  repeated(
    'default',
    'A value for rows of CSV without one: `port:22`. For ansible and pg-service, `username:ops`.',
  ),
  filter('user', 'The username for hosts of ssh-config without one.'),
  choice('skip', '`1` leaves out lines and records at fault; `warnings` names them.', ['0', '1']),
  reasonHeader,
]

function repeated(name: string, description: string): Parameter {
  const items: JsonSchema = { type: 'string', pattern: ':' }
  return { ...filter(name, description, { type: 'array', minItems: 1, items }), isRepeated: true }
}

const formatsByType: ReadonlyMap<string, ImportFormatName> = new Map([
  ['text/csv', 'csv'],
  ['application/x-ndjson', 'jsonl'],
  ['application/jsonl', 'jsonl'],
  ['text/plain', 'ssh-config'],
])

const rows: JsonSchema = { type: 'array', maxItems: IMPORT_ROWS_MAX, items: refTo('NewConfiguration') }

const inventory: JsonSchema = {
  type: 'object',
  description: 'With `format=ansible`, what `ansible-inventory --list` prints.',
  additionalProperties: { type: 'object' },
}

const importBody: Body = {
  content: {
    'application/json': {
      anyOf: [
        rows,
        { type: 'object', properties: { configurations: rows }, required: ['configurations'] },
        inventory,
      ],
    },
    ...Object.fromEntries(Array.from(formatsByType.keys(), (type) => [type, text])),
  },
  description: `At most ${IMPORT_ROWS_MAX} rows of ${IMPORT_ROW_CHARACTERS_MAX} characters. With the parameter \`format\`, the type may be any.`,
  bytesMax: IMPORT_BYTES_MAX,
}

/** Many changes at once. */
export const importing = defineResource({
  handlers: ({ store, unchanged, scheduler }) => importHandlers(store, unchanged, scheduler),
  routes: [
    {
      method: 'POST',
      path: '/v1/import',
      access: 'write',
      limits: 'records',
      summary:
        'adds, changes and removes many records at once; optional: `mode`, `format`, `dry_run`, `skip`; for CSV `separator`, `map`, `extra`, `only`, `default`; for ansible `extra`, `default`; for pg-service `default`; for ssh-config `user`',
      answers: '200 with `ETag`; 400 with the line of each error; 412',
      operation: {
        id: 'importConfigurations',
        tag: 'exchange',
        notes:
          'All changes are made together, or none. With the tag of a dry run, or of the list, in `If-Match`, they are made only if no record has changed since.',
        parameters: importParameters,
        isConditional: true,
        body: importBody,
        answers: {
          200: {
            description:
              'What has changed, or would change. The tag is that of the list after it, or of the list now.',
            headers: ['ETag'],
            content: json('ImportResult', 'ImportTrial'),
          },
        },
        problems: ['too_many_changes'],
      },
      handler: 'importAll',
    },
  ],
})

export function importHandlers(store: ConfigurationStore, unchanged: UnchangedCalls, scheduler: Scheduler) {
  const slot = new ImportSlot()
  // A short one takes little memory, and does not wait for a long one that may take seconds, only to be tried.
  const slotOfShort = new ImportSlot()
  return { importAll }

  async function importAll(request: Request): Promise<Reply> {
    const query = parseImportQuery(request)
    const author = authorOf(request)
    const holds = conditionIn(request.headers)
    const expected = holds && ((tag: string) => holds(`"${tag}"`))
    const turn = await (isShort(request) ? slotOfShort : slot).take(callerKey(request), request.signal)
    try {
      const { mode = 'merge' } = query
      const limits = importLimitsFor(recordMemory(store))
      const found = await turn.receive(request.progress, (check) =>
        readRecords(request, query, limits, check, scheduler),
      )
      const { drafts, read, lineOf } = found
      const withLines = (error: unknown): never => {
        throw error instanceof InvalidInputError ? withLinesOf(error, lineOf) : error
      }
      const warnings = found.warnings.length > 0 ? { warnings: found.warnings } : {}
      if (query.dry_run === '1') {
        const plan = await store.planImport(drafts, mode, expected, request).catch(withLines)
        return reply({ ...tried(plan), read, ...warnings }, plan)
      }
      const done = await store.importAll(author, drafts, mode, expected, request).catch(withLines)
      await unchanged.record(author, { import: { mode, ...countsOf(done) } })
      return reply({ ...countsOf(done), ...warnings }, done)
    } finally {
      turn.release()
    }
  }

  function reply(answer: object, outcome: BulkOutcome): Reply {
    const headers = { 'Cache-Control': CACHE_CONTROL, ETag: `"${outcome.tag}"` }
    return jsonReply(200, answer, headers)
  }
}

/** Whether the body is as short as that of any other call, as its head says. */
function isShort({ headers }: Request): boolean {
  const length = headers['content-length']
  return length !== undefined && Number(length) <= BODY_BYTES_MAX
}

/** The error with the line of each record that it names. */
function withLinesOf(error: InvalidInputError, lineOf: (name: string) => number | undefined) {
  const faults = error.faults.map((fault) => {
    const line = fault.name === undefined ? undefined : lineOf(fault.name)
    return line === undefined ? fault : { line, ...fault }
  })
  return new InvalidInputError(error.message, faults)
}

type ImportQuery = ReturnType<typeof parseImportQuery>

/** @throws {InvalidInputError} naming every parameter at fault. {Problem} 415 if those of some formats come without a format. */
function parseImportQuery(request: Request) {
  const choices = {
    ...{ format: importFormatNames, mode: importModes, dry_run: ['0', '1'] },
    ...{ separator: separatorWords, extra: extraColumns, skip: ['0', '1'] },
  } as const
  const query = parseQuery(request.query, [...Object.keys(choices), 'user'], repeatedParameters)
  const { user, ...values } = query.values
  const chosen = chosenOf({ ...query, values }, choices)
  const { separator, extra, skip, format, mode, dry_run } = chosen
  const words = { separator, extra, user, skip, ...query.lists }
  const isOfFormat = Object.values(words).some((value) => value !== undefined)
  const options = isOfFormat
    ? parseImportOptions(words, formatOf(request, format), inQuery, (fault) => query.faults.push(fault))
    : noImportOptions
  checkQuery(query)
  return { format, mode, dry_run, options }
}

/**
 * @param check Called before each piece; what it throws ends the reading.
 * @throws {Problem} 413 or 415; 400 with the line of each fault, and how the file was read. {InvalidInputError} for bytes
 * that are not text.
 */
async function readRecords(
  request: Request,
  { format: given, options }: Pick<ImportQuery, 'format' | 'options'>,
  { bytesMax, memoryMax }: ImportLimits,
  check: () => void,
  scheduler: Scheduler,
) {
  let reader: ImportReader | undefined
  let isOneLine = true
  const begin = () => {
    reader ??= new ImportReader(formatOf(request, given), FAULTS_MAX, { memoryMax, options })
    return reader
  }
  await request.readPieces(bytesMax, (piece) => {
    check()
    isOneLine &&= !piece.includes('\n') && !piece.includes('\r')
    begin().read(piece)
  })
  const found = await scheduler.run(callerKey(request), begin().finish(), request.signal)
  const { faults, faultCount, read } = found
  if (faultCount === 0) return found
  const advice = isOneLine ? adviseOnOneLine(formatOf(request, given), faults) : ''
  const listedCount = countFaults(faults)
  const listed = faultCount > listedCount ? `, of which ${listedCount} are listed` : ''
  throw new Problem(
    'invalid_input',
    `Cannot import the records: there ${faultCount === 1 ? 'is' : 'are'} ${counted(faultCount, 'fault')}${listed}; nothing has changed${advice}`,
    { faults, members: { read } },
  )
}

/** @throws {Problem} 415 when neither the query nor the content type names the format. */
function formatOf(request: Request, given: ImportFormatName | undefined): ImportFormatName {
  const type = parseMediaType(request.headers['content-type'])
  const essence = type?.essence ?? ''
  if (essence === 'multipart/form-data')
    throw new Problem(
      'unsupported_type',
      'Cannot import a form: the file must be the body itself; with curl, send it with --data-binary @FILE, not with -F',
    )
  const told = type !== undefined && isJsonType(type) ? 'json' : formatsByType.get(essence)
  const format = given ?? told
  if (format === undefined) {
    throw new Problem(
      'unsupported_type',
      `Cannot tell the format of a body of type "${essence}"; add format=${importFormatNames.join(', format=')} to the query, or send application/json, application/x-ndjson, text/csv or, for ssh-config, text/plain`,
    )
  }
  checkBodyType(request, [essence])
  return format
}

/** `curl -d` leaves the line ends out, and so joins all lines; JSON needs none, and lines of JSON stay sound objects. */
function adviseOnOneLine(format: ImportFormatName, faults: readonly Fault[]): string {
  const isJson = format === 'json' || format === 'ansible'
  const isBroken = format !== 'jsonl' || faults.some(({ field }) => field === 'row')
  return isJson || !isBroken
    ? ''
    : '; the body is one line: with curl, send a file with --data-binary, not -d'
}

/** Reply to a dry run, with the first names of each kind. */
function tried(plan: ImportPlan) {
  const first = (records: readonly { readonly name: string }[]) =>
    records.slice(0, IMPORT_NAMES_LISTED_MAX).map(({ name }) => name)
  const modified = plan.modified.map(({ after }) => after)
  const names = { added: first(plan.added), modified: first(modified), removed: first(plan.removed) }
  return { dry_run: true, ...countsOf(plan), names, changed: shownModifications(plan) }
}

interface ImportLimits {
  /** Longest body. */
  readonly bytesMax: number
  /** Most memory for all that is made of its rows, in bytes. */
  readonly memoryMax: number
}

/**
 * What an import may have, so that none ends a server with little memory.
 *
 * @param taken Bytes that the records take.
 * @param max Bytes that they may take.
 */
export function importLimitsFor(taken: number, max = recordMemoryMax()): ImportLimits {
  const room = Math.max(max - taken, RECORDS_MEMORY_LEAST_BYTES)
  return {
    bytesMax: Math.min(IMPORT_BYTES_MAX, Math.floor(room * IMPORT_MEMORY_SHARE)),
    memoryMax: importMemoryMax(taken, max),
  }
}
