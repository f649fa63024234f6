import { shownModifications, shownRemovals } from '../audit/shown-changes.ts'
import { type Fault, InvalidInputError, TooManyChangesError } from '../errors.ts'
import { createFairQueue } from '../fair-queue.ts'
import { conditionIn, parseMaxAffected } from '../http/header-fields.ts'
import { callerKey, jsonReply, type Reply, type Request, readJsonObject } from '../http/message.ts'
import type { Parameter } from '../openapi/operation.ts'
import type { Actor } from '../store/authorship.ts'
import type { BulkChange } from '../store/bulk-change.ts'
import {
  type Configuration,
  type ConfigurationPatch,
  parseConfigurationPatch,
} from '../store/configuration.ts'
import type { ConfigurationStore } from '../store/configuration-store.ts'
import type { BulkOutcome, ExpectedTag } from '../store/decisions.ts'
import { countMatched, filteredChange } from '../store/filtered-change.ts'
import { matcherOf } from '../store/record-filter.ts'
import { json, jsonBody } from './bodies.ts'
import { filterNames, formatFilter, parseFilter, repeatableFilterNames } from './filter-query.ts'
import { CACHE_CONTROL } from './list-reply.ts'
import { choice, filterParameters, searchParameter } from './parameters.ts'
import { parseQuery } from './query.ts'
import { authorIn, reasonHeader } from './reason.ts'
import { defineResource } from './resource.ts'
import type { UnchangedCalls } from './unchanged-calls.ts'

/** Changes of many records that wait; one more is refused with 503. Only one is decided at a time. */
export const MANY_WAITING_MAX = 1_000

const parameters: readonly Parameter[] = [
  searchParameter,
  ...filterParameters,
  choice('all', '`1` for all records; then there are no filters.', ['1']),
  choice('dry_run', '`1` shows what would change, and changes nothing.', ['1']),
  {
    name: 'Prefer',
    in: 'header',
    component: 'Prefer-max-affected',
    description: '`max-affected=N`: nothing is changed if the filters keep more than N records.',
    schema: { type: 'string', examples: ['max-affected=50'] },
  },
  reasonHeader,
]

const NOTES =
  'All records that the filters keep, or none. With the tag of a list, or of a dry run, in `If-Match`, only if no record has changed since. `If-None-Match` is refused.'

/** Changes of all records that filters keep. */
export const manyChanges = defineResource({
  handlers: ({ store, unchanged }) => manyChangeHandlers(store, unchanged),
  routes: [
    {
      method: 'PATCH',
      path: '/configurations/',
      access: 'write',
      limits: 'records',
      summary:
        'changes all records that the filters of the list keep; needs a filter, or `all=1`; optional: `dry_run`',
      answers: '200 `{"matched":…,"modified":…,"unchanged":…}` with `ETag`; 412',
      operation: {
        id: 'modifyConfigurations',
        tag: 'configurations',
        notes: NOTES,
        parameters,
        isConditional: true,
        body: jsonBody('ConfigurationPatch'),
        answers: {
          200: {
            description: 'What has changed, or would change. The tag is that of the list after it, or now.',
            headers: ['ETag', 'Preference-Applied?'],
            content: json('ManyChanged', 'ManyChangedTrial'),
          },
        },
        problems: ['too_many_affected', 'too_many_changes'],
      },
      handler: 'modify',
    },
    {
      method: 'DELETE',
      path: '/configurations/',
      access: 'write',
      limits: 'records',
      summary:
        'deletes all records that the filters of the list keep; needs a filter, or `all=1`; optional: `dry_run`',
      answers: '200 `{"matched":…,"removed":…}` with `ETag`; 412',
      operation: {
        id: 'removeConfigurations',
        tag: 'configurations',
        notes: NOTES,
        parameters,
        isConditional: true,
        answers: {
          200: {
            description: 'What was deleted, or would be. The tag is that of the list after it, or now.',
            headers: ['ETag', 'Preference-Applied?'],
            content: json('ManyRemoved', 'ManyRemovedTrial'),
          },
        },
        problems: ['too_many_affected', 'too_many_changes'],
      },
      handler: 'remove',
    },
  ],
})

export function manyChangeHandlers(store: ConfigurationStore, unchanged: UnchangedCalls) {
  const queue = createFairQueue(
    1,
    MANY_WAITING_MAX,
    'Too many changes of many records are waiting; try again later',
  )
  return { modify, remove }

  async function modify(request: Request): Promise<Reply> {
    const { patch, faults } = patchIn(await readJsonObject(request))
    return change(request, patch, faults)
  }

  function remove(request: Request): Promise<Reply> {
    return change(request, undefined, [])
  }

  /** @param faults The faults of the body. */
  async function change(request: Request, patch: ConfigurationPatch | undefined, faults: readonly Fault[]) {
    const asked = parseAsked(request, faults)
    const holds = conditionIn(request.headers)
    const expected = holds && ((tag: string) => holds(`"${tag}"`))
    const { matches, query, affectedMax, isTrial, author } = asked
    const bulk = filteredChange({ matches, query, patch, affectedMax })
    await queue.enter([callerKey(request)])
    try {
      request.signal.throwIfAborted()
      const done = isTrial
        ? await store.planTogether(bulk, expected, request)
        : await make(request, author, bulk, expected)
      const counts = countsOf(done, patch)
      return reply(
        isTrial
          ? {
              dry_run: true,
              ...counts,
              changed: patch === undefined ? shownRemovals(done) : shownModifications(done),
            }
          : counts,
        done.tag,
        affectedMax,
      )
    } catch (error) {
      throw error instanceof TooManyChangesError
        ? new TooManyChangesError(`${error.message}; narrow the filters`)
        : error
    } finally {
      queue.leave()
    }
  }

  async function make(request: Request, author: Actor, bulk: BulkChange, expected?: ExpectedTag) {
    const done = await store.changeTogether(author, bulk, expected, request)
    await unchanged.record(author, bulk.notesOf(done))
    return done
  }
}

interface ManyRequest {
  readonly matches: (record: Configuration) => boolean
  /** The filters, as the audit trail names them. */
  readonly query: string
  readonly affectedMax: number | undefined
  readonly isTrial: boolean
  readonly author: Actor
}

/** @param more Faults that were found already. @throws {InvalidInputError} naming all faults. */
function parseAsked(request: Request, more: readonly Fault[]): ManyRequest {
  const { query: text, headers } = request
  const query = parseQuery(text, ['q', ...filterNames, 'all', 'dry_run'], repeatableFilterNames)
  const { values, lists, faults } = query
  for (const name of ['all', 'dry_run'] as const)
    if (values[name] !== undefined && values[name] !== '1') faults.push({ field: name, detail: 'must be 1' })
  const filter = parseFilter(query)
  const isFiltered =
    lists.label !== undefined || [...filterNames, 'q' as const].some((name) => values[name] !== undefined)
  if (values.all !== undefined && isFiltered)
    faults.push({ field: 'all', detail: 'must not be given together with a filter' })
  if (values.all === undefined && !isFiltered)
    faults.push({ field: 'all', detail: 'is missing: give a filter, or all=1 for all records' })
  const affectedMax = parseMaxAffected(headers.prefer)
  if (affectedMax === 'faulty')
    faults.push({ field: 'Prefer', detail: 'must give max-affected once, as a plain decimal integer' })
  if (headers['if-none-match'] !== undefined)
    faults.push({ field: 'If-None-Match', detail: 'is not for a change of many records; use If-Match' })
  const author = authorIn(request, faults)
  faults.push(...more)
  if (faults.length > 0 || affectedMax === 'faulty')
    throw new InvalidInputError('The change is not valid; nothing has changed', faults)
  return {
    matches: filter === undefined ? () => true : matcherOf(filter),
    query: filter === undefined ? 'all=1' : formatFilter(filter).slice(0, -1),
    affectedMax,
    isTrial: values.dry_run !== undefined,
    author,
  }
}

/** As of one record, but without a name. */
function patchIn({ name, ...input }: Record<string, unknown>) {
  const faults: Fault[] = []
  if (name !== undefined)
    faults.push({ field: 'name', detail: 'must be left out: no two records can have the same' })
  try {
    return { patch: parseConfigurationPatch(input), faults }
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    return { patch: {}, faults: [...faults, ...error.faults] }
  }
}

function countsOf(plan: BulkOutcome, patch: ConfigurationPatch | undefined) {
  const matched = countMatched(plan)
  const { modified, removed, unchanged } = plan
  return patch === undefined
    ? { matched, removed: removed.length }
    : { matched, modified: modified.length, unchanged }
}

function reply(answer: object, tag: string, affectedMax: number | undefined): Reply {
  const applied = affectedMax === undefined ? {} : { 'Preference-Applied': `max-affected=${affectedMax}` }
  return jsonReply(200, answer, { 'Cache-Control': CACHE_CONTROL, ETag: `"${tag}"`, ...applied })
}
