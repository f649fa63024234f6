import { domainToASCII } from 'node:url'

/** Whether decisions.md allows a hostname; written for the tests, from the RFCs. */
export function isHostname(text: string): boolean {
  if (text.startsWith('[') && text.endsWith(']')) return isIPv6Address(text.slice(1, -1))
  if (text.includes(':')) return isIPv6Address(text)
  if (isIPv4Address(text)) return true
  const isAscii = text.split('').every((unit) => unit < '\x80')
  // The meaning of letters outside DNS must not depend on where a URL would end.
  if (!text.split('').every((unit) => unit >= '\x80' || /[\w.-]/.test(unit))) return false
  const ascii = isAscii ? text : domainToASCII(text)
  return ascii !== '' && !(!isAscii && isIPv4Address(ascii)) && isDnsName(ascii)
}

/** RFC 1123 section 2.1, and `_`. */
function isDnsName(name: string): boolean {
  if (name.length > 253) return false
  const labels = (name.endsWith('.') ? name.slice(0, -1) : name).split('.')
  const isLabel = (label: string) => /^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/.test(label)
  const last = labels[labels.length - 1] ?? ''
  return labels.every(isLabel) && /[^0-9]/.test(last)
}

/** RFC 3986 section 3.2.2: four decimal octets. */
export function isIPv4Address(text: string): boolean {
  const octets = text.split('.')
  return (
    octets.length === 4 &&
    octets.every((octet) => String(Number(octet)) === octet && Number(octet) >= 0 && Number(octet) <= 255)
  )
}

/** RFC 4291 section 2.2, perhaps with a zone behind it (RFC 4007 section 11). */
export function isIPv6Address(text: string): boolean {
  const percent = text.indexOf('%')
  if (percent !== -1 && !/^[A-Za-z0-9.:-]+$/.test(text.slice(percent + 1))) return false
  const address = percent === -1 ? text : text.slice(0, percent)
  const halves = address.split('::')
  if (halves.length > 2) return false
  const groupsOf = (half: string | undefined) => (half === undefined || half === '' ? [] : half.split(':'))
  const groups = halves.flatMap(groupsOf)
  const last = groups[groups.length - 1] ?? ''
  const isDotted = last.includes('.') && address.endsWith(last)
  if (isDotted && !isIPv4Address(last)) return false
  const hexGroups = isDotted ? groups.slice(0, -1) : groups
  if (!hexGroups.every((group) => /^[0-9A-Fa-f]{1,4}$/.test(group))) return false
  const length = hexGroups.length + (isDotted ? 2 : 0)
  return halves.length === 2 ? length <= 7 : length === 8
}
