import { decodePercent } from './percent-encoding.ts'

/** Escapes of bytes, good ones and broken ones. */
export const escapes = [
  '%',
  '%4',
  '%zz',
  '%26',
  '%3D',
  '%2B',
  '%25',
  '%ff',
  '%c3%a9',
  '%C3%A9',
  '%ed%a0%80',
  '%00',
  '%EF%BB%BF',
]

/** A form, or a query, taken apart one character at a time. */
export function expectedPairs(text: string): [string, string][] | undefined {
  const pairs: [string, string][] = []
  let raw: [string, string] | undefined
  let isInValue = false
  for (const character of `${text}&`) {
    if (character === '&') {
      if (raw !== undefined) {
        const [name, value] = raw.map((part) => decodePercent(part.split('+').join(' ')))
        if (name === undefined || value === undefined) return undefined
        pairs.push([name, value])
      }
      raw = undefined
      isInValue = false
      continue
    }
    raw ??= ['', '']
    if (character === '=' && !isInValue) isInValue = true
    else raw[isInValue ? 1 : 0] += character
  }
  return pairs
}
