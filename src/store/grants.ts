import { type Fault, InvalidInputError } from '../errors.ts'
import { parseForm } from '../http/url.ts'
import { FILTER_LABELS_MAX, GRANTS_MAX } from '../limits.ts'
import {
  type Filter,
  faultOfFilterText,
  faultOfLabelFilter,
  formatLabelFilter,
  parseLabelFilter,
} from './record-filter.ts'

const FORM = 'must be read or write, or one of these with "?" and the filters prefix= and label= behind it'

/** One thing that an account may see, or change. */
export interface Grant {
  readonly right: 'read' | 'write'
  /** Which records; empty for all. */
  readonly filter: Pick<Filter, 'prefix' | 'labels'>
}

/**
 * Reads the grants of an account.
 *
 * @param field Names the input in faults.
 * @returns Their one form: sorted, each once; each with `prefix` first and labels sorted.
 * @throws {InvalidInputError} naming every grant that is not valid, or if there are not 1 to GRANTS_MAX.
 */
export function parseGrants(input: unknown, field = 'grants'): readonly string[] {
  const faults: Fault[] = []
  const grants = readGrants(input, (detail) => faults.push({ field, detail }))
  if (grants === undefined) throw new InvalidInputError('The grants are not valid', faults)
  return grants
}

/** As `parseGrants`; undefined if something is wrong, which `addFault` gets. */
export function readGrants(
  input: unknown,
  addFault: (detail: string) => void,
): readonly string[] | undefined {
  if (!Array.isArray(input) || input.length === 0 || input.length > GRANTS_MAX) {
    addFault(`must be a list of 1 to ${GRANTS_MAX} grants`)
    return undefined
  }
  let isSound = true
  const grants = input.map((text: unknown) => {
    const grant = typeof text === 'string' ? readGrant(text) : FORM
    if (typeof grant !== 'string') return formatGrant(grant)
    isSound = false
    addFault(typeof text === 'string' ? `${JSON.stringify(text)} ${grant}` : grant)
    return ''
  })
  return isSound ? [...new Set(grants)].sort() : undefined
}

/** Reads one grant. @returns Or what is wrong with it. */
export function readGrant(text: string): Grant | string {
  const mark = text.indexOf('?')
  const right = mark === -1 ? text : text.slice(0, mark)
  if (right !== 'read' && right !== 'write') return FORM
  if (mark === -1) return { right, filter: {} }
  const pairs = text.isWellFormed() ? parseForm(text.slice(mark + 1)) : undefined
  if (pairs === undefined) return 'is not percent-encoded UTF-8'
  let prefix: string | undefined
  const labels = new Set<string>()
  for (const [name, value] of pairs) {
    if (name !== 'prefix' && name !== 'label') return `has "${name}", but a grant takes only prefix and label`
    const fault = name === 'prefix' ? faultOfFilterText(value) : faultOfLabelFilter(value)
    if (fault !== undefined)
      return `has a ${name} that is not valid: ${fault.startsWith('the ') ? '' : 'it '}${fault}`
    if (name === 'label') labels.add(value)
    else if (prefix !== undefined) return 'has prefix twice'
    else prefix = value
  }
  if (labels.size > FILTER_LABELS_MAX) return `has more than ${FILTER_LABELS_MAX} labels`
  if (prefix === undefined && labels.size === 0) return 'has "?" but no filter behind it; leave it out'
  const filter = {
    ...(prefix === undefined ? {} : { prefix }),
    ...(labels.size === 0 ? {} : { labels: [...labels].sort().map(parseLabelFilter) }),
  }
  return { right, filter }
}

/** As `readGrant` reads it. */
export function formatGrant({ right, filter: { prefix, labels = [] } }: Grant): string {
  const filters = labels.map((label) => `label=${encode(formatLabelFilter(label))}`)
  if (prefix !== undefined) filters.unshift(`prefix=${encode(prefix)}`)
  return filters.length === 0 ? right : `${right}?${filters.join('&')}`
}

/** Which records a grant is about, in words. */
export function describeGranted({ filter: { prefix, labels = [] } }: Grant): string {
  const conditions =
    labels.length === 0 ? [] : [`that label=${labels.map(formatLabelFilter).join(', label=')} keeps`]
  if (prefix !== undefined) conditions.unshift(`whose name begins with ${JSON.stringify(prefix)}`)
  return conditions.length === 0 ? 'all records' : `records ${conditions.join(' and ')}`
}

/** A `=` stays as it is, so that labels can be read. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll('%3D', '=')
}
