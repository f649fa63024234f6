import { trimBlanks } from './white-space.ts'

/**
 * The weight that a header such as `Accept` gives to a value (RFC 9110 section 12.4.2), from 0 to 1.
 *
 * @param name In lower case; wildcards are not looked at, so `*` is a value like others.
 * @returns That of the first member of this name; 0 if it is malformed; undefined if the header does not name it.
 */
export function qualityOf(header: string | undefined, name: string): number | undefined {
  for (const member of header?.split(',') ?? []) {
    const [value = '', ...parameters] = member.split(';').map(trimBlanks)
    if (value.toLowerCase() !== name) continue
    const weight = parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2) ?? '1'
    return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight) : 0
  }
  return undefined
}
