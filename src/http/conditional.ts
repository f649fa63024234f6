/**
 * Whether `If-None-Match` names the entity tag, so that the answer is 304 (RFC 9110 section 13.1.2, weak comparison).
 */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.trim() === '*' || parseTags(ifNoneMatch).some((tag) => tag.replace(/^W\//, '') === etag)
}

/** Whether `If-Match` allows a change of what has the entity tag (RFC 9110 section 13.1.1, strong comparison). */
export function isExpected(ifMatch: string, etag: string): boolean {
  return ifMatch.trim() === '*' || parseTags(ifMatch).includes(etag)
}

function parseTags(header: string): string[] {
  return header.match(/(?:W\/)?"[^"]*"/g) ?? []
}
