/** A host and an optional port (RFC 3986 section 3.2.2); may be empty (RFC 9112 section 3.2). */
const AUTHORITY = /^(?:\[[\da-fA-F:.]{2,}\]|(?:[\w.~!$&'()*+,;=-]|%[\da-fA-F]{2})*)(?::\d*)?$/

export function isAuthority(text: string): boolean {
  return AUTHORITY.test(text)
}
