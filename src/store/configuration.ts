import { hash } from 'node:crypto'
import { type Fault, InvalidInputError } from '../errors.ts'
import { FAULTS_MAX } from '../limits.ts'
import { eitherOf } from '../text.ts'
import { type FieldName, type FieldValues, fieldNames, recordFields } from './fields.ts'
import {
  areSameLabels,
  faultsOfLabels,
  faultsOfLabelsPatch,
  type Labels,
  type LabelsPatch,
  mergeLabels,
} from './labels.ts'
import { sharedLabels } from './shared-labels.ts'

/** The content of a record that is still to be stored. */
export type NewConfiguration = FieldValues & { readonly labels?: Labels | undefined }

/** The content of a record in an imported file, where a file may say something of some labels only. */
export type ImportedConfiguration = NewConfiguration & {
  readonly labelsPatch?: LabelsPatch | undefined
  /** Keys of the patch that stand for any label whose key differs only in characters that a variable cannot have. */
  readonly looseKeys?: readonly string[]
}

/** Fields to change. `labels` replaces all labels, `labelsPatch` changes some; without both, all stay. */
export type ConfigurationPatch = Partial<ImportedConfiguration>

const NOT_A_MEMBER = `is not a member of a configuration: ${eitherOf([...fieldNames, 'labels'])}`

const ANOTHER_NAME = 'must be the name in the path, or be left out; to rename a record, use PATCH'

/** One stored record. Immutable: a modification replaces it. */
export class Configuration implements NewConfiguration {
  readonly id: number
  readonly name: string
  readonly hostname: string
  readonly port: number
  readonly username: string
  /** Sorted by key. A record without labels has no such member. */
  declare readonly labels?: Labels
  #json: string | undefined
  #etag: string | undefined

  /** @param before The same record before a change, whose labels may stay. */
  constructor(id: number, fields: NewConfiguration, before?: Configuration) {
    this.id = id
    this.name = fields.name
    this.hostname = fields.hostname
    this.port = fields.port
    this.username = fields.username
    const { labels } = fields
    // Only then, so that other records take no memory for it.
    if (labels !== undefined && labels === before?.labels) this.labels = labels
    else if (labels !== undefined && Object.keys(labels).length > 0) this.labels = sharedLabels(labels)
  }

  /** Compact JSON, cached: `id`, then the fields in the order of their table, then the labels. */
  get json(): string {
    this.#json ??= JSON.stringify(this)
    return this.#json
  }

  /** As `json`, but not cached: for a pass over all records. */
  get jsonOnce(): string {
    return this.#json ?? JSON.stringify(this)
  }

  /** Bytes of `json`; does not cache it. */
  get jsonBytes(): number {
    return Buffer.byteLength(this.jsonOnce)
  }

  /** A strong entity tag (RFC 9110 section 8.8.3) that depends on the content alone. */
  get etag(): string {
    this.#etag ??= `"${hash('sha256', this.json, 'base64url').slice(0, 22)}"`
    return this.#etag
  }

  /**
   * A copy with other content; this record itself if it does not differ.
   *
   * @throws {InvalidInputError} if it would have too many labels.
   */
  with(patch: ConfigurationPatch): Configuration {
    const labels = labelsAfter(this.labels, patch)
    return this.#unlessSame(new Configuration(this.id, { ...this, ...patch, labels }, this))
  }

  /** A record with this id and exactly this content; this record itself if it does not differ. */
  replacedBy(content: NewConfiguration): Configuration {
    return this.#unlessSame(new Configuration(this.id, content))
  }

  #unlessSame(changed: Configuration): Configuration {
    const isSame = fieldNames.every((name) => changed[name] === this[name])
    return isSame && areSameLabels(changed.labels, this.labels) ? this : changed
  }
}

/** The labels that a patch leaves. @throws {InvalidInputError} if they are too many. */
export function labelsAfter(
  before: Labels | undefined,
  { labels = before, labelsPatch }: Pick<ConfigurationPatch, 'labels' | 'labelsPatch'>,
): Labels | undefined {
  return labelsPatch === undefined ? labels : mergeLabels(labels, labelsPatch)
}

/**
 * Checks the body of an add: all required fields, perhaps optional ones and labels, and no others; `id` is ignored.
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
 * Checks the body of a modification: any of the fields, labels to set or remove, and no others; `id` is ignored.
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
    const value = input[field]
    const detail = value === null && !isRequired ? undefined : check(value)
    if (detail === undefined) fields[field] = value
    else faults.push({ field, detail })
  }
  if (Object.hasOwn(input, 'labels')) {
    const isPatch = presence === 'optional'
    const found = isPatch ? faultsOfLabelsPatch(input.labels) : faultsOfLabels(input.labels)
    if (found.length === 0) fields[isPatch ? 'labelsPatch' : 'labels'] = input.labels
    else faults.push(...found)
  }
  for (const field in input) {
    if (faults.length >= FAULTS_MAX) break
    if (field !== 'id' && field !== 'labels' && !fieldNames.includes(field as FieldName))
      faults.push({ field, detail: NOT_A_MEMBER })
  }
  return { fields: fields as ConfigurationPatch, faults }
}
