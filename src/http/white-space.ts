/**
 * Trims spaces and tabs from a field value or a part of one (OWS, RFC 9110 section 5.6.3). Other white space, which
 * `trim` would remove, is part of the value.
 */
export function trimBlanks(text: string): string {
  // A fast path: there are hardly ever any.
  if (!isBlank(text.charCodeAt(0)) && !isBlank(text.charCodeAt(text.length - 1))) return text
  return text.replace(/^[ \t]+/, '').replace(/(?<![ \t])[ \t]+$/, '')
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
