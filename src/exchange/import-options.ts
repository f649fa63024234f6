import type { Fault } from '../errors.ts'
import { recordFields } from '../store/fields.ts'
import { faultOfKey } from '../store/labels.ts'
import { allOf, eitherOf } from '../text.ts'

/** How a caller wants a file to be read. */
export interface ImportOptions {
  readonly separator?: string
  /** What becomes of columns that are not known; without it they are a fault. */
  readonly extra?: ExtraColumns
  /** A field, `label.KEY` or LEFT_OUT, and its column. */
  readonly map: readonly Pair[]
  /** Column and value: rows with another value are left out. */
  readonly only: readonly Pair[]
  /** Field and value, for rows without one. */
  readonly defaults: readonly Pair[]
  /** The username of hosts without one. */
  readonly user?: string
  /** Whether what cannot be kept is left out. */
  readonly isSkipping?: boolean
  /** How the caller writes a parameter, for remedies. */
  readonly spell: Spelling
}

export type Pair = readonly [first: string, second: string]
type ExtraColumns = (typeof extraColumns)[number]
type Spelling = (parameter: string, first: string, second?: string) => string

export const extraColumns = ['labels', 'ignore'] as const
/** In the order in which they win a tie. */
export const separators = [',', ';', '\t', '|'] as const
export const separatorWords = [...separators, 'tab'] as const
/** The parameters of some formats only. */
const formatsOfParameter: Readonly<Partial<Record<keyof ImportWords, readonly string[]>>> = {
  separator: ['csv'],
  extra: ['csv', 'ansible'],
  map: ['csv'],
  only: ['csv'],
  default: ['csv', 'pg-service', 'ansible'],
  user: ['ssh-config'],
}
/** In the place of a field in `map`: the column is left out. */
export const LEFT_OUT = ''
export const repeatedParameters = ['map', 'only', 'default'] as const

/** The words of a caller. */
export interface ImportWords {
  readonly separator?: string | undefined
  readonly extra?: string | undefined
  readonly map?: readonly string[] | undefined
  readonly only?: readonly string[] | undefined
  readonly default?: readonly string[] | undefined
  readonly user?: string | undefined
  /** `1` for yes. */
  readonly skip?: string | undefined
}

/** As HTTP has them, with `:` between the two parts of a value. */
export const inQuery = {
  divider: ':',
  spell: (parameter: string, first: string, second?: string) =>
    `${parameter}=${first}${second === undefined ? '' : `:${second}`}`,
} as const
/** As the command has them, with `=`. */
export const asFlags = {
  divider: '=',
  spell: (parameter: string, first: string, second?: string) =>
    `--${parameter} ${first}${second === undefined ? '' : `=${second}`}`,
} as const

export const noImportOptions: ImportOptions = { map: [], only: [], defaults: [], spell: inQuery.spell }

const fillable = recordFields.filter(({ name }) => name !== 'name')
/** In other formats than CSV, whatever else is missing has a value of its own, or none that all records could share. */
const fillableElsewhere = fillable.filter(({ name }) => name === 'username')
export const mappableNames: readonly string[] = [...recordFields.map(({ name }) => name), 'labels']

/**
 * Checks what a caller said, before there is a file.
 *
 * @param format The format of the file: a parameter of another format is a fault.
 * @param onFault Called with each fault; its field is the parameter.
 */
export function parseImportOptions(
  words: ImportWords,
  format: string,
  { divider, spell }: typeof inQuery | typeof asFlags,
  onFault: (fault: Fault) => void,
): ImportOptions {
  for (const parameter of Object.keys(words) as (keyof ImportWords)[]) {
    const formats = formatsOfParameter[parameter]
    if (formats?.includes(format) === false && (words[parameter]?.length ?? 0) > 0)
      onFault({ field: parameter, detail: `is for ${allOf(formats)} only; this file is ${format}` })
  }
  const pairsOf = (parameter: 'map' | 'only' | 'default', parts: string) =>
    (words[parameter] ?? []).flatMap((text): Pair[] => {
      const at = text.indexOf(divider)
      if (at !== -1) return [[text.slice(0, at), text.slice(at + 1)]]
      onFault({
        field: parameter,
        detail: `must be ${parts.replace(' ', divider)}, not ${JSON.stringify(text)}`,
      })
      return []
    })
  const map = pairsOf('map', 'FIELD COLUMN')
  const only = pairsOf('only', 'COLUMN VALUE')
  const defaults = pairsOf('default', 'FIELD VALUE')
  for (const [field] of map) checkMapped(field, onFault)
  for (const pair of defaults) checkDefault(pair, format === 'csv' ? fillable : fillableElsewhere, onFault)
  checkOnce('map', map, onFault)
  checkOnce('default', defaults, onFault)
  const { separator, extra, user, skip } = words
  const userFault = user === undefined ? undefined : fillableElsewhere[0]?.check(user)
  if (userFault !== undefined) onFault({ field: 'user', detail: userFault })
  return {
    ...{ map, only, defaults, spell },
    ...(separator === undefined ? {} : { separator: separator === 'tab' ? '\t' : separator }),
    ...(extra === undefined ? {} : { extra: extra === 'labels' ? 'labels' : 'ignore' }),
    ...(user === undefined ? {} : { user }),
    isSkipping: skip === '1',
  }
}

/** The same in a query. */
export function importQuery(options: ImportOptions) {
  const texts = (pairs: readonly Pair[]) => pairs.map((pair) => pair.join(inQuery.divider))
  return {
    separator: options.separator,
    extra: options.extra,
    map: texts(options.map),
    only: texts(options.only),
    default: texts(options.defaults),
    skip: options.isSkipping === true ? '1' : undefined,
  }
}

function checkMapped(field: string, onFault: (fault: Fault) => void) {
  const key = /^label\.(.*)$/s.exec(field)?.[1]
  const fault = key === undefined ? undefined : faultOfKey(key)
  if (fault !== undefined) onFault({ field: 'map', detail: `${JSON.stringify(key)} ${fault}` })
  if (key === undefined && field !== LEFT_OUT && !mappableNames.includes(field))
    onFault({
      field: 'map',
      detail: `${JSON.stringify(field)} is not a field: ${eitherOf([...mappableNames, 'label.KEY'])}`,
    })
}

function checkDefault([field, value]: Pair, fields: typeof fillable, onFault: (fault: Fault) => void) {
  const known = fields.find(({ name }) => name === field)
  const fault = known?.check(known.parse(value))
  if (known === undefined)
    onFault({
      field: 'default',
      detail: `${JSON.stringify(field)} is not a field that it fills in: ${eitherOf(fields.map(({ name }) => name))}`,
    })
  else if (fault !== undefined) onFault({ field: 'default', detail: `${field} ${fault}` })
}

function checkOnce(parameter: string, pairs: readonly Pair[], onFault: (fault: Fault) => void) {
  for (const [field, group] of Map.groupBy(pairs, ([first]) => first)) {
    const values = group.map(([, second]) => JSON.stringify(second))
    if (values.length > 1 && field !== LEFT_OUT)
      onFault({ field: parameter, detail: `says ${allOf(values)} for ${field}` })
  }
}
