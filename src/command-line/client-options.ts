import { clientVariables } from '../client/endpoint.ts'
import {
  ALL_HISTORY_ENTRIES_DEFAULT,
  ALL_HISTORY_ENTRIES_MAX,
  FILTER_CHARACTERS_MAX,
  HISTORY_ENTRIES_DEFAULT,
  HISTORY_ENTRIES_MAX,
  REASON_CHARACTERS_MAX,
} from '../limits.ts'
import { MOMENT_FORMS, parseMoment } from '../moment.ts'
import { type OptionSpec, parsePath } from '../service/option-values.ts'
import {
  type FieldName,
  fieldNames,
  type OptionalField,
  optionalFields,
  recordFields,
} from '../store/fields.ts'
import { checkText, eitherOf, isLongerThan } from '../text.ts'

// Each reads the value of a flag, and throws a RangeError that ends the sentence "…, because it must be".

/** The fields of a record that can be shown alone, beside its labels. */
const shownFields = ['id', ...fieldNames] as const
/** In a column, all labels together. */
const ALL_LABELS = 'labels'
const label = /^labels?\.(?<key>.+)$/s

const sorts = fieldNames.flatMap((field) => [field, `-${field}`])

/** A field that has a flag. */
export type FlaggedField = Exclude<FieldName, 'name'>
type FieldOption<Name extends string> = `record${Capitalize<Name>}`
type RemovalOption<Name extends string> = `no${Capitalize<Name>}`

/** The option of a field, which is not that of the server with the same name. */
export function fieldOption<Name extends FlaggedField>(name: Name): FieldOption<Name> {
  return `record${capitalized(name)}`
}

/** The option that removes the value of a field. */
export function removalOption<Name extends OptionalField>(name: Name): RemovalOption<Name> {
  return `no${capitalized(name)}`
}

function capitalized<Text extends string>(text: Text): Capitalize<Text> {
  return (text.charAt(0).toUpperCase() + text.slice(1)) as Capitalize<Text>
}

/** What can be set of the commands that call a server. Some flags mean another thing to another command. */
export const clientOptionSpecs = {
  /** A URL, `unix:PATH`, or the host of a kept login. */
  server: {
    flag: '--server',
    placeholder: 'URL',
    help: 'the server: a URL, unix:PATH, or the host of a kept login',
    lastVariable: clientVariables.server,
    parse: (text) => (text.startsWith('unix:') ? `unix:${parsePath(text.slice(5), 'unix:')}` : text),
  },
  authority: {
    flag: '--ca',
    placeholder: 'FILE',
    help: 'PEM file of a certificate authority to trust as well',
    lastVariable: clientVariables.authority,
    parse: parsePath,
  },
  plain: {
    flag: '--plain',
    help: 'send the credential over plain HTTP, where others on the network can read it',
  },
  noRetry: {
    flag: '--no-retry',
    help: 'do not try again when the server is busy (429, 503)',
  },
  json: {
    flag: '--json',
    help: 'print JSON, one object per line',
  },
  names: {
    flag: '--names',
    help: 'print only names, one per line',
  },
  field: {
    flag: '--field',
    placeholder: 'FIELD',
    help: `print one value: ${shownFields.join(', ')} or label.KEY`,
    parse: parseShownField,
  },
  columns: {
    flag: '--columns',
    placeholder: 'COLUMNS',
    help: `print these columns: ${shownFields.join(', ')}, label.KEY, ${ALL_LABELS}; with commas between them`,
    parse: parseColumns,
  },
  count: {
    flag: '--count',
    help: 'print how many records there are, and nothing else',
  },
  listLimit: {
    flag: '--limit',
    placeholder: 'COUNT',
    help: 'print only the first records, so many',
    parse: parseListLimit,
  },
  tag: {
    flag: '--tag',
    help: 'print the ETag, for --if-match',
  },
  ifMatch: {
    flag: '--if-match',
    placeholder: 'TAG',
    help: 'change the record only if it still has this ETag, as get --tag printed it',
    parse: parseTag,
  },
  sort: {
    flag: '--sort',
    placeholder: 'FIELD',
    help: `order by ${fieldNames.join(', ')}; with "-" before it, descending`,
    otherwise: 'in the order in which they were added',
    choices: sorts,
  },
  prefix: {
    flag: '--prefix',
    placeholder: 'TEXT',
    help: 'only records whose name begins with this text',
  },
  where: {
    flag: '--where',
    placeholder: 'QUERY',
    help: "only records that the list's own query keeps, such as 'label=env=prod&prefix=db-'",
  },
  list: {
    flag: '--list',
    help: 'all hosts, with their variables and groups',
  },
  inventoryHost: {
    flag: '--host',
    placeholder: 'NAME',
    help: 'the variables of one host',
  },
  save: {
    flag: '--save',
    placeholder: 'FILE',
    help: 'keep the records as they were in this new file, as JSON, for connbook import FILE',
    parse: parsePath,
  },
  /** A filter. */
  named: {
    flag: '--name',
    placeholder: 'NAME',
    help: 'only the record with this name',
  },
  newName: {
    flag: '--name',
    placeholder: 'NEW',
    help: 'another name',
  },
  ...fieldOptionSpecs(),
  /** A filter. */
  withLabel: {
    flag: '--label',
    placeholder: 'KEY[=VALUE]',
    help: 'only records with this label, or !KEY; may be repeated',
    isList: true,
  },
  label: {
    flag: '--label',
    placeholder: 'KEY=VALUE',
    help: 'set this label; may be repeated',
    isList: true,
    parse: parseLabel,
  },
  noLabel: {
    flag: '--no-label',
    placeholder: 'KEY',
    help: 'remove this label; may be repeated',
    isList: true,
  },
  create: {
    flag: '--create',
    help: 'add the record if it is missing, or replace all of it; needs all fields',
  },
  print: {
    flag: '--print',
    help: 'show the command line, and do not run it',
  },
  limit: {
    flag: '--limit',
    placeholder: 'COUNT',
    help: `how many changes, from 1 to ${HISTORY_ENTRIES_MAX} of a record, or to ${ALL_HISTORY_ENTRIES_MAX} of all`,
    otherwise: `${HISTORY_ENTRIES_DEFAULT} of a record, ${ALL_HISTORY_ENTRIES_DEFAULT} of all, with --since up to 10000`,
    parse: parseLimit,
  },
  since: {
    flag: '--since',
    placeholder: 'TIME',
    help: 'only changes of this time and after it: RFC 3339, or 7d, 12h, 30m ago',
    parse: parseTime,
  },
  until: {
    flag: '--until',
    placeholder: 'TIME',
    help: 'only changes before this time; see --since',
    parse: parseTime,
  },
  by: {
    flag: '--by',
    placeholder: 'NAME',
    help: 'only changes that this account made; for commands on the server, this system account',
    parse: parseAccount,
  },
  to: {
    flag: '--to',
    placeholder: 'TIME',
    help: 'as it was at this time: RFC 3339, or 7d, 12h, 30m ago',
    parse: parseTime,
  },
  steps: {
    flag: '--steps',
    placeholder: 'COUNT',
    help: `how many changes to undo, from 1 to ${HISTORY_ENTRIES_MAX}`,
    otherwise: '1',
    parse: parseSteps,
  },
  reason: {
    flag: '--reason',
    placeholder: 'TEXT',
    help: 'why; audit trail, history and events have it',
    parse: parseReason,
  },
  loginUser: {
    flag: '--user',
    placeholder: 'NAME',
    help: 'the user who logs in',
    otherwise: 'asked on the terminal',
  },
} satisfies Record<string, OptionSpec>

/** Text for each field, which the server checks; a switch that removes it where a record may do without. */
function fieldOptionSpecs() {
  const values = recordFields.flatMap((field) => {
    if (!('flag' in field)) return []
    const { name, flag } = field
    const spec = { flag: `--${name}`, ...flag }
    return [[fieldOption(name), spec] as const]
  })
  const removals = optionalFields.map((name) => {
    const help = `remove the ${name}`
    const spec = { flag: `--no-${name}`, help }
    return [removalOption(name), spec] as const
  })
  return Object.fromEntries<unknown>([...values, ...removals]) as {
    readonly [Name in FlaggedField as FieldOption<Name>]: (typeof values)[number][1]
  } & { readonly [Name in OptionalField as RemovalOption<Name>]: (typeof removals)[number][1] }
}

/** A member of a record that is shown alone. */
export type ShownField = { readonly field: (typeof shownFields)[number] } | { readonly label: string }

/** A column of a list. */
export interface ListColumn {
  /** As it was typed. */
  readonly name: string
  /** All labels together if it is undefined. */
  readonly shown: ShownField | undefined
}

export function parseShownField(text: string): ShownField {
  const field = shownFields.find((name) => name === text)
  if (field !== undefined) return { field }
  const key = label.exec(text)?.groups?.key
  if (key === undefined) throw new RangeError(eitherOf([...shownFields, 'label.KEY']))
  return { label: key }
}

/** With commas between them. */
export function parseColumns(text: string): readonly ListColumn[] {
  return text.split(',').map((name) => {
    if (name === ALL_LABELS) return { name, shown: undefined }
    try {
      return { name, shown: parseShownField(name) }
    } catch {
      throw new RangeError(
        `columns with commas between them: ${[...shownFields, 'label.KEY', ALL_LABELS].join(', ')}`,
      )
    }
  })
}

export function parseListLimit(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new RangeError('a number from 1 on')
  return Number(text)
}

/** @returns With quotes, as a header has it. */
export function parseTag(text: string): string {
  const tag = /^"?([\x21\x23-\x7e]+)"?$/.exec(text)?.[1]
  if (tag === undefined) throw new RangeError('an ETag, as connbook get NAME --tag prints it')
  return `"${tag}"`
}

export function parseLabel(text: string): readonly [key: string, value: string] {
  const at = text.indexOf('=')
  if (at < 1) throw new RangeError('KEY=VALUE')
  return [text.slice(0, at), text.slice(at + 1)]
}

export function parseLimit(text: string): number {
  const count = /^[1-9]\d{0,3}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > ALL_HISTORY_ENTRIES_MAX)
    throw new RangeError(`a number from 1 to ${ALL_HISTORY_ENTRIES_MAX}`)
  return count
}

/** @returns Undefined for an empty one, which counts as none. */
export function parseReason(text: string): string | undefined {
  if (text !== '' && checkText(text, REASON_CHARACTERS_MAX) !== undefined)
    throw new RangeError(`at most ${REASON_CHARACTERS_MAX} characters, and no control characters`)
  return text === '' ? undefined : text
}

export function parseSteps(text: string): number {
  const count = /^[1-9]\d{0,2}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > HISTORY_ENTRIES_MAX)
    throw new RangeError(`a number from 1 to ${HISTORY_ENTRIES_MAX}`)
  return count
}

/** @returns The text: the server knows best what time it is. */
export function parseTime(text: string): string {
  if (parseMoment(text, Date.now()) === undefined) throw new RangeError(MOMENT_FORMS)
  return text
}

export function parseAccount(text: string): string {
  if (text === '' || isLongerThan(text, FILTER_CHARACTERS_MAX))
    throw new RangeError(`a name of 1 to ${FILTER_CHARACTERS_MAX} characters`)
  return text
}
