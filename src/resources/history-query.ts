import type { HistoryPlace, HistoryQuery } from '../audit/history-walk.ts'
import { ALL_HISTORY_ENTRIES_DEFAULT, ALL_HISTORY_ENTRIES_MAX, FILTER_CHARACTERS_MAX } from '../limits.ts'
import { MOMENT_FORMS, parseMoment } from '../moment.ts'
import type { Parameter } from '../openapi/operation.ts'
import type { Access } from '../store/access.ts'
import { listTag, parseListTag, storeOfTag } from '../store/list-tag.ts'
import { changeMatcherOf, type Filter } from '../store/record-filter.ts'
import { isLongerThan } from '../text.ts'
import { filterNames, formatFilter, parseFilter, repeatableFilterNames } from './filter-query.ts'
import { parseCount } from './list-query.ts'
import { filterParameters, searchParameter } from './parameters.ts'
import { checkQuery, parseQuery, type Query } from './query.ts'

const momentSchema = {
  type: 'string',
  minLength: 1,
  description: `${MOMENT_FORMS[0]?.toUpperCase()}${MOMENT_FORMS.slice(1)}.`,
  examples: ['2026-01-31T08:00:00Z', '7d'],
} as const

/** What the OpenAPI document says of the parameters. */
export const historyOfAllParameters: readonly Parameter[] = [
  {
    name: 'since',
    in: 'query',
    description: 'Keeps the changes of this time and after it.',
    schema: momentSchema,
  },
  { name: 'until', in: 'query', description: 'Keeps the changes before this time.', schema: momentSchema },
  {
    name: 'by',
    in: 'query',
    description: 'Keeps the changes that this account made; for commands, this system account.',
    schema: { type: 'string', minLength: 1, maxLength: FILTER_CHARACTERS_MAX },
  },
  searchParameter,
  ...filterParameters,
  {
    name: 'limit',
    in: 'query',
    description: `How many entries at most; ${ALL_HISTORY_ENTRIES_DEFAULT} without it. Digits without a leading zero.`,
    schema: { type: 'integer', minimum: 1, maximum: ALL_HISTORY_ENTRIES_MAX },
  },
  {
    name: 'before',
    in: 'query',
    description: 'Where to go on, as the `Link` of an answer has it.',
    schema: { type: 'string', pattern: '^[0-9a-z]+-[0-9]+[.][0-9]+$' },
  },
]

const parameters = ['since', 'until', 'by', 'q', ...filterNames, 'limit', 'before'] as const
export const historyOfAllNames: readonly string[] = [
  ...parameters.filter((name) => name !== 'limit' && name !== 'before'),
  ...repeatableFilterNames,
  'limit',
]
type ParsedQuery = Query<(typeof parameters)[number], (typeof repeatableFilterNames)[number]>

/** What the history of all records is asked for. */
export interface AskedHistory extends Omit<HistoryQuery, 'keeps' | 'access'> {
  readonly filter: Filter | undefined
}

/**
 * @param store Id of the store, as the caller sees it.
 * @throws {InvalidInputError} naming every faulty parameter.
 */
export function parseHistoryQuery(text: string, store: string, nowMs: number): AskedHistory {
  const query: ParsedQuery = parseQuery(text, parameters, repeatableFilterNames)
  const asked = {
    since: momentIn(query, 'since', nowMs),
    until: momentIn(query, 'until', nowMs),
    by: accountIn(query),
    filter: parseFilter(query),
    limit: parseCount(query, 'limit', 1, ALL_HISTORY_ENTRIES_MAX) ?? ALL_HISTORY_ENTRIES_DEFAULT,
    before: placeIn(query, store),
  }
  checkQuery(query)
  return asked
}

/** What is looked for in the trail. @param access Of the caller. */
export function searchOf({ filter, ...asked }: AskedHistory, access: Access | undefined): HistoryQuery {
  if (access !== undefined) return { ...asked, access, keeps: changeMatcherOf(access.limit(filter) ?? {}) }
  return filter === undefined ? asked : { ...asked, keeps: changeMatcherOf(filter) }
}

/** The header `Link` that goes on from an entry; it keeps the other parameters, with times that stay the same. */
export function nextLink(path: string, store: string, asked: AskedHistory, next: HistoryPlace): string {
  const { since, until, by, filter, limit } = asked
  const kept = Object.entries({ since, until, by }).flatMap(([name, value]) =>
    value === undefined ? [] : `${name}=${encodeURIComponent(value)}&`,
  )
  const place = `${listTag(store, next.revision)}.${next.id}`
  return `<${path}?${kept.join('')}${formatFilter(filter)}limit=${limit}&before=${place}>; rel="next"`
}

function momentIn({ values, faults }: ParsedQuery, field: 'since' | 'until', nowMs: number) {
  const text = values[field]
  if (text === undefined) return undefined
  const moment = parseMoment(text, nowMs)
  // A "+" that is not encoded stands for a blank.
  const hint = text.includes(' ') ? '; write "+" as %2B' : ''
  if (moment === undefined) faults.push({ field, detail: `must be ${MOMENT_FORMS}${hint}` })
  return moment
}

function accountIn({ values: { by }, faults }: ParsedQuery) {
  if (by === '') faults.push({ field: 'by', detail: 'must not be empty' })
  if (by !== undefined && isLongerThan(by, FILTER_CHARACTERS_MAX))
    faults.push({ field: 'by', detail: `must not be longer than ${FILTER_CHARACTERS_MAX} characters` })
  return by
}

function placeIn({ values, faults }: ParsedQuery, store: string): HistoryPlace | undefined {
  if (values.before === undefined) return undefined
  const [, text, id] = /^([0-9a-z]+-\d+)\.(0|[1-9]\d{0,15})$/.exec(values.before) ?? []
  const tag = parseListTag(text)
  if (tag?.store === storeOfTag(store)) return { revision: tag.revision, id: Number(id) }
  const detail =
    tag === undefined
      ? 'must be what the Link of an answer has'
      : 'is of another history: since then, there was a restore, or the account has other grants; begin again without it'
  faults.push({ field: 'before', detail })
  return undefined
}
