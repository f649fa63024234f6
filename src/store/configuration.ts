import { hash } from 'node:crypto'
import { type Fault, InvalidInputError } from '../errors.ts'
import { FAULTS_MAX } from '../limits.ts'
import { eitherOf } from '../text.ts'
import { type FieldName, type FieldValues, fieldNames, recordFields } from './fields.ts'

/** The fields of a record that is still to be stored. */
export type NewConfiguration = FieldValues

export type ConfigurationPatch = Partial<NewConfiguration>

const NOT_A_MEMBER = `is not a member of a configuration: ${eitherOf(fieldNames)}`

const ANOTHER_NAME = 'must be the name in the path, or be left out; to rename a record, use PATCH'

/** One stored record. Immutable: a modification replaces it. */
export class Configuration implements NewConfiguration, Record<FieldName, unknown> {
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

  /** Compact JSON, cached: `id`, then the fields in the order of their table. */
  get json(): string {
    this.#json ??= JSON.stringify(this)
    return this.#json
  }

  /** Bytes of `json`; does not cache it. */
  get jsonBytes(): number {
    return Buffer.byteLength(this.#json ?? JSON.stringify(this))
  }

  /** A strong entity tag (RFC 9110 section 8.8.3) that depends on the content alone. */
  get etag(): string {
    this.#etag ??= `"${hash('sha256', this.json, 'base64url').slice(0, 22)}"`
    return this.#etag
  }

  /** A copy with other fields; this record itself if they do not differ. */
  with(patch: ConfigurationPatch): Configuration {
    return this.#unlessSame(new Configuration(this.id, { ...this, ...patch }))
  }

  /** A record with this id and exactly these fields; this record itself if they do not differ. */
  replacedBy(fields: NewConfiguration): Configuration {
    return this.#unlessSame(new Configuration(this.id, fields))
  }

  #unlessSame(changed: Configuration): Configuration {
    return fieldNames.every((name) => changed[name] === this[name]) ? this : changed
  }
}

/**
 * Checks the body of an add: all required fields, perhaps optional ones, and no others; `id` is ignored.
 *
 * @throws {InvalidInputError} with the first FAULTS_MAX faults.
 */
export function parseNewConfiguration(input: Record<string, unknown>): NewConfiguration {
  const { fields, faults } = readNewConfiguration(input)
  checkFaults(faults)
  return fields
}

/** The same without an error, which costs much time in a file with many faults. @returns `fields` only count without `faults`. */
export function readNewConfiguration(input: Record<string, unknown>): {
  readonly fields: NewConfiguration
  readonly faults: readonly Fault[]
} {
  const { fields, faults } = readFields(input, 'required')
  return { fields: fields as NewConfiguration, faults }
}

/**
 * Checks the body of a replacement: as `parseNewConfiguration`, but the name may be left out.
 *
 * @param name The one in the path; another in the body is a fault.
 * @throws {InvalidInputError} with the first FAULTS_MAX faults.
 */
export function parseReplacement(input: Record<string, unknown>, name: string): NewConfiguration {
  const { fields, faults } = readNewConfiguration({ ...input, name })
  const isOther = Object.hasOwn(input, 'name') && input.name !== name
  checkFaults(isOther ? [{ field: 'name', detail: ANOTHER_NAME }, ...faults] : faults)
  return fields
}

/**
 * Checks the body of a modification: any of the fields, and no others; `id` is ignored.
 *
 * @throws {InvalidInputError} with the first FAULTS_MAX faults.
 */
export function parseConfigurationPatch(input: Record<string, unknown>): ConfigurationPatch {
  const { fields, faults } = readFields(input, 'optional')
  checkFaults(faults)
  return fields
}

function checkFaults(faults: readonly Fault[]) {
  if (faults.length > 0) throw new InvalidInputError('The configuration is not valid', faults)
}

function readFields(input: Record<string, unknown>, presence: 'required' | 'optional') {
  const faults: Fault[] = []
  const fields: Record<string, unknown> = {}
  for (const { name: field, check, isRequired } of recordFields) {
    if (!Object.hasOwn(input, field)) {
      if (presence === 'required' && isRequired) faults.push({ field, detail: 'is missing' })
      continue
    }
    const detail = check(input[field])
    if (detail === undefined) fields[field] = input[field]
    else faults.push({ field, detail })
  }
  for (const field in input) {
    if (faults.length >= FAULTS_MAX) break
    if (field !== 'id' && !fieldNames.includes(field as FieldName))
      faults.push({ field, detail: NOT_A_MEMBER })
  }
  return { fields: fields as ConfigurationPatch, faults }
}
