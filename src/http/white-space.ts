/**
 * A field value or a part of one without the blanks and tabs around it (OWS, RFC 9110 section 5.6.3).
 *
 * Unlike `trim` this leaves other white space: to the rest of the world a no-break space is part of the value.
 */
export function trimBlanks(text: string): string {
  // Nearly always there are none.
  if (!isBlank(text.charCodeAt(0)) && !isBlank(text.charCodeAt(text.length - 1))) return text
  return text.replace(/^[ \t]+/, '').replace(/(?<![ \t])[ \t]+$/, '')
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
