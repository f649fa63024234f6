import { hash } from 'node:crypto'
import { isIPv4, isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'
import { type Fault, InvalidInputError } from '../errors.ts'
import { HOSTNAME_CHARACTERS_MAX, NAME_CHARACTERS_MAX, USERNAME_CHARACTERS_MAX } from '../limits.ts'
import { checkText, kindOf } from '../text.ts'

/** The four fields that a caller gives. */
export interface NewConfiguration {
  readonly name: string
  readonly hostname: string
  readonly port: number
  readonly username: string
}

/** The fields that a caller wants changed. */
export type ConfigurationPatch = Partial<NewConfiguration>

/** One stored record. It never changes: a modification puts another in its place. */
export class Configuration implements NewConfiguration {
  readonly id: number
  readonly name: string
  readonly hostname: string
  readonly port: number
  readonly username: string
  #json: string | undefined
  #etag: string | undefined

  constructor(id: number, fields: NewConfiguration) {
    this.id = id
    this.name = fields.name
    this.hostname = fields.hostname
    this.port = fields.port
    this.username = fields.username
  }

  /** The record as compact JSON, members in the order id, name, hostname, port, username; made once. */
  get json(): string {
    this.#json ??= JSON.stringify(this)
    return this.#json
  }

  /** Bytes of `json`, which is not kept for this. */
  get jsonBytes(): number {
    return Buffer.byteLength(this.#json ?? JSON.stringify(this))
  }

  /** A strong entity tag (RFC 9110 section 8.8.3) that depends on the content alone. */
  get etag(): string {
    this.#etag ??= `"${hash('sha256', this.json, 'base64url').slice(0, 22)}"`
    return this.#etag
  }

  /** This record with other fields, or this very record when they do not differ. */
  with(patch: ConfigurationPatch): Configuration {
    const changed = new Configuration(this.id, { ...this, ...patch })
    return changed.json === this.json ? this : changed
  }
}

const fieldChecks = {
  name: checkName,
  hostname: checkHostname,
  port: checkPort,
  username: checkUsername,
} satisfies Record<keyof NewConfiguration, (value: unknown) => string | undefined>
const fieldCheckEntries = Object.entries(fieldChecks)

/**
 * Checks the body of an add: all four fields and nothing else, save `id`, which is ignored.
 *
 * @throws {InvalidInputError} with every fault.
 */
export function parseNewConfiguration(input: Record<string, unknown>): NewConfiguration {
  return parseFields(input, 'required') as NewConfiguration
}

/**
 * Checks the body of a modification: any of the four fields and nothing else, save `id`, which is ignored.
 *
 * @throws {InvalidInputError} with every fault.
 */
export function parseConfigurationPatch(input: Record<string, unknown>): ConfigurationPatch {
  return parseFields(input, 'optional')
}

function parseFields(input: Record<string, unknown>, presence: 'required' | 'optional'): ConfigurationPatch {
  const faults: Fault[] = []
  const fields: Record<string, unknown> = {}
  for (const [field, check] of fieldCheckEntries) {
    if (!Object.hasOwn(input, field)) {
      if (presence === 'required') faults.push({ field, detail: 'is missing' })
      continue
    }
    const detail = check(input[field])
    if (detail === undefined) fields[field] = input[field]
    else faults.push({ field, detail })
  }
  for (const field in input) {
    if (field !== 'id' && !Object.hasOwn(fieldChecks, field)) {
      faults.push({ field, detail: 'is not a member of a configuration: name, hostname, port or username' })
    }
  }
  if (faults.length > 0) throw new InvalidInputError('The configuration is not valid', faults)
  return fields
}

function checkName(value: unknown): string | undefined {
  if (value === '.' || value === '..') return 'must not be "." or "..", which no URL can carry'
  return checkText(value, NAME_CHARACTERS_MAX)
}

function checkUsername(value: unknown): string | undefined {
  return checkText(value, USERNAME_CHARACTERS_MAX)
}

function checkPort(value: unknown): string | undefined {
  if (typeof value !== 'number') return `must be an integer, not ${kindOf(value)}`
  if (!Number.isInteger(value) || value < 1 || value > 65535) return 'must be an integer from 1 to 65535'
  return undefined
}

function checkHostname(value: unknown): string | undefined {
  const fault = checkText(value, HOSTNAME_CHARACTERS_MAX)
  if (fault !== undefined || typeof value !== 'string') return fault
  const bracketed = /^\[(.*)\]$/.exec(value)?.[1]
  if (bracketed !== undefined)
    return isIPv6(bracketed) ? undefined : 'must be an IPv6 address inside brackets'
  if (value.includes(':')) {
    return isIPv6(value)
      ? undefined
      : 'must be an IPv6 address, an IPv4 address or a DNS name, without a port'
  }
  return isIPv4(value) ? undefined : checkDnsName(value)
}

/** Labels as RFC 1123 section 2.1 has them, with `_` as found in practice; other scripts by way of IDNA. */
function checkDnsName(value: string): string | undefined {
  if (!/^[\w.\-\u0080-\u{10ffff}]+$/u.test(value)) return 'must hold only letters, digits, "-", "_" and dots'
  const isAscii = /^[\w.-]+$/.test(value)
  const ascii = isAscii ? value : domainToASCII(value)
  if (ascii === '' || isIPv4(ascii)) return 'must be a name that converts to ASCII (IDNA)'
  if (ascii.length > HOSTNAME_CHARACTERS_MAX) {
    return `must not be longer than ${HOSTNAME_CHARACTERS_MAX} characters once converted to ASCII`
  }
  const labels = ascii.split('.')
  if (labels.length > 1 && labels.at(-1) === '') labels.pop()
  for (const label of labels) {
    if (label === '') return 'must not hold an empty label'
    if (label.length > 63) return 'must not hold a label longer than 63 characters'
    if (label.startsWith('-') || label.endsWith('-'))
      return 'must not hold a label that begins or ends with "-"'
  }
  return /^\d+$/.test(labels.at(-1) ?? '')
    ? 'must be an IPv4 address, or not end in a label of digits'
    : undefined
}
