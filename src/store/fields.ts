import { isIP, isIPv4, isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import type { JsonSchema } from '../json-schema.ts'
import {
  HOSTNAME_CHARACTERS_MAX,
  NAME_CHARACTERS_MAX,
  PORT_MAX,
  PORT_MIN,
  USERNAME_CHARACTERS_MAX,
} from '../limits.ts'
import { checkText, kindOf } from '../text.ts'

/** The characters of Unicode category Cc, in ranges: not every validator knows `\p`. */
const CONTROLS = '\\u0000-\\u001f\\u007f-\\u009f'
/** Other characters of ASCII than those of a DNS name. */
const NOT_IN_DNS = '\\u0000-,/:-@[-^`{-\\u009f'
export const nameSchema: JsonSchema = {
  ...textSchema(NAME_CHARACTERS_MAX),
  description:
    'Unique and case sensitive. Any Unicode but control characters and lone surrogates; neither `.` nor `..`.',
  pattern: `^(?!\\.{1,2}$)[^${CONTROLS}]*$`,
  examples: ['web1'],
}
const hostnameSchema: JsonSchema = {
  ...textSchema(HOSTNAME_CHARACTERS_MAX),
  description:
    'A DNS name, an IPv4 address, or an IPv6 address with or without brackets; no port. A DNS name has labels of 1 to 63 characters that neither begin nor end with `-`, the last not all digits; an international name must convert to ASCII.',
  pattern: `^(?:[^${NOT_IN_DNS}]+|\\[?(?=[^:]*:[^:]*:)[0-9A-Fa-f:.]+(?:%[^${CONTROLS} ]+)?\\]?)$`,
  examples: ['web1.example.net'],
}
const portSchema: JsonSchema = {
  type: 'integer',
  minimum: PORT_MIN,
  maximum: PORT_MAX,
  description: 'An integer; `"22"` is a string.',
  examples: [22],
}
const usernameSchema: JsonSchema = {
  ...textSchema(USERNAME_CHARACTERS_MAX),
  description: 'Any Unicode but control characters and lone surrogates.',
  examples: ['deploy'],
}

/** One field of a record. */
interface Field {
  readonly name: string
  /** What is wrong with the value of a caller; undefined if nothing is. */
  readonly check: (value: unknown) => string | undefined
  /** What `check` demands, as far as JSON Schema can state it; never more. */
  readonly schema: JsonSchema
  /** Whether a stored value has the type. Looser than `check`, which may change: old records stay readable. */
  readonly isStored: (value: unknown) => value is string | number
  /** Whether every record has it. Where not, null stands for none: in a patch it removes the value. */
  readonly isRequired: boolean
  /** Converts text of an imported file; the value is still to be checked. */
  readonly parse: (text: string) => unknown
  /** How the help shows the flag of the command line; the name has none. */
  readonly flag?: { readonly placeholder: string; readonly help: string }
}

const text = { isStored: (value: unknown) => typeof value === 'string', parse: (value: string) => value }
const number = { isStored: (value: unknown) => typeof value === 'number', parse: parseDigits }

/**
 * The fields of a record besides its id, in the order in which they are shown.
 *
 * Whatever treats all fields reads this table. A new field also needs its two lines in `Configuration`.
 */
export const recordFields = [
  { name: 'name', ...text, isRequired: true, check: checkName, schema: nameSchema },
  {
    name: 'hostname',
    ...text,
    isRequired: true,
    check: checkHostname,
    schema: hostnameSchema,
    flag: { placeholder: 'HOST', help: 'host name or address' },
  },
  {
    name: 'port',
    ...number,
    isRequired: true,
    check: checkPort,
    schema: portSchema,
    flag: { placeholder: 'PORT', help: 'port' },
  },
  {
    name: 'username',
    ...text,
    isRequired: true,
    check: (value) => checkText(value, USERNAME_CHARACTERS_MAX),
    schema: usernameSchema,
    flag: { placeholder: 'USER', help: 'username' },
  },
] as const satisfies Field[]

type Row = (typeof recordFields)[number]
type Value<Of> = Of extends { isStored(value: unknown): value is infer Type } ? Type : never

export type FieldName = Row['name']
export type OptionalField = Exclude<Row, { isRequired: true }>['name']

/** A value for each field; optional ones may be absent. */
export type FieldValues = {
  readonly [One in Extract<Row, { isRequired: true }> as One['name']]: Value<One>
} & { readonly [One in Exclude<Row, { isRequired: true }> as One['name']]?: Value<One> | null | undefined }

export const fieldNames: readonly FieldName[] = recordFields.map(({ name }) => name)
/** Those that a record may do without. */
export const optionalFields: readonly OptionalField[] = recordFields.flatMap(({ name, isRequired }) =>
  isRequired ? [] : [name as OptionalField],
)

function checkName(value: unknown): string | undefined {
  if (value === '.' || value === '..') return 'must not be "." or "..", which no URL can carry'
  return checkText(value, NAME_CHARACTERS_MAX)
}

function checkPort(value: unknown): string | undefined {
  if (value === '') return 'must not be empty'
  if (typeof value === 'string' && /^0\d+$/.test(value)) return 'must not begin with a zero'
  const range = `must be an integer from ${PORT_MIN} to ${PORT_MAX}`
  // Text of a file that is not a number is still text here.
  if (typeof value === 'string' && typeof parseDigits(value) !== 'number') return range
  if (typeof value !== 'number') return `must be an integer, not ${kindOf(value)}`
  return Number.isInteger(value) && value >= PORT_MIN && value <= PORT_MAX ? undefined : range
}

/** Converts 1 to 9 digits without a leading zero; any other text stays text, which `checkPort` refuses. */
export function parseDigits(text: string): unknown {
  return /^(0|[1-9]\d{0,8})$/.test(text) ? Number(text) : text
}

/** A usual DNS name: its last label begins with a letter, so it is not an IPv4 address and does not end in digits alone. */
const USUAL_NAME = /^(?:\w(?:[\w-]{0,61}\w)?\.)*[A-Za-z](?:[\w-]{0,61}\w)?$/

/** An IPv4 address in other forms than the strict one (RFC 6943 section 3.1.1) whose numbers have zeros before them. */
const PADDED_ADDRESS = /^(?=.*(?:^|\.)0\d)\d+(?:\.\d+){3}$/

function checkHostname(value: unknown): string | undefined {
  if (typeof value === 'string' && value.length <= HOSTNAME_CHARACTERS_MAX && USUAL_NAME.test(value))
    return undefined
  const fault = checkText(value, HOSTNAME_CHARACTERS_MAX)
  if (fault !== undefined || typeof value !== 'string') return fault
  const bracketed = /^\[(.*)\]$/.exec(value)?.[1]
  if (bracketed !== undefined)
    return isIPv6(bracketed) ? undefined : 'must be an IPv6 address inside brackets'
  if (isIP(value) !== 0) return undefined
  const [, address = '', length] = /^([^/]*)(\/\d{1,3})$/.exec(value) ?? []
  if (length !== undefined && isIP(address) !== 0)
    return `must be an address alone: leave out "${length}", the length of its network`
  if (PADDED_ADDRESS.test(value))
    return 'must be an IPv4 address of four numbers without zeros before them, which some programs take for octal'
  return value.includes(':')
    ? 'must be an IPv6 address, an IPv4 address or a DNS name, without a port'
    : checkDnsName(value)
}

/** Labels as in RFC 1123 section 2.1, and `_`, which occurs in practice; other scripts by way of IDNA. */
function checkDnsName(value: string): string | undefined {
  if (!/^[\w.\-\u0080-\u{10ffff}]+$/u.test(value)) return 'must hold only letters, digits, "-", "_" and dots'
  const isAscii = /^[\w.-]+$/.test(value)
  const ascii = isAscii ? value : domainToASCII(value)
  if (ascii === '' || isIPv4(ascii)) return 'must be a name that converts to ASCII (IDNA)'
  if (ascii.length > HOSTNAME_CHARACTERS_MAX)
    return `must not be longer than ${HOSTNAME_CHARACTERS_MAX} characters once converted to ASCII`
  const labels = ascii.split('.')
  if (labels.length > 1 && labels.at(-1) === '') labels.pop()
  for (const label of labels) {
    if (label === '') return 'must not hold an empty label'
    if (label.length > 63) return 'must not hold a label longer than 63 characters'
    if (label.startsWith('-') || label.endsWith('-'))
      return 'must not hold a label that begins or ends with "-"'
  }
  if (/^\d+$/.test(labels.at(-1) ?? '')) return 'must be an IPv4 address, or not end in a label of digits'
  return undefined
}

/** What `checkText` demands. */
function textSchema(charactersMax: number): JsonSchema {
  return { type: 'string', minLength: 1, maxLength: charactersMax, pattern: `^[^${CONTROLS}]*$` }
}
