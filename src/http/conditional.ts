import { trimBlanks } from './white-space.ts'

/**
 * Whether `If-None-Match` names the entity tag, so that a read is 304 and a change 412 (RFC 9110 section 13.1.2, weak
 * comparison).
 */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  // As clients nearly always give it back.
  if (ifNoneMatch === etag) return true
  return (
    trimBlanks(ifNoneMatch) === '*' || parseTags(ifNoneMatch).some((tag) => tag.replace(/^W\//, '') === etag)
  )
}

/** Whether `If-Match` allows what is done with something of this tag (RFC 9110 section 13.1.1, strong comparison). */
export function isExpected(ifMatch: string | undefined, etag: string): boolean {
  if (ifMatch === undefined) return true
  return trimBlanks(ifMatch) === '*' || parseTags(ifMatch).includes(etag)
}

function parseTags(header: string): string[] {
  return header.match(/(?:W\/)?"[^"]*"/g) ?? []
}
