import type { IncomingHttpHeaders } from 'node:http'
import { trimBlanks } from './white-space.ts'

/** Whether `If-None-Match` names the tag: a read is 304, a change 412 (RFC 9110 section 13.1.2, weak comparison). */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  // The first comparison is a fast path for the usual spelling.
  if (ifNoneMatch === etag || trimBlanks(ifNoneMatch) === '*') return true
  return parseTags(ifNoneMatch).some((tag) => tag.replace(/^W\//, '') === etag)
}

/** Whether `If-Match` allows a request to something with this tag (RFC 9110 section 13.1.1, strong comparison). */
export function isExpected(ifMatch: string | undefined, etag: string): boolean {
  if (ifMatch === undefined) return true
  return trimBlanks(ifMatch) === '*' || parseTags(ifMatch).includes(etag)
}

/** Whether the conditions of a change hold for a tag; undefined without conditions. */
export function conditionIn(headers: IncomingHttpHeaders): ((etag: string) => boolean) | undefined {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers
  if (ifMatch === undefined && ifNoneMatch === undefined) return undefined
  return (etag) => isExpected(ifMatch, etag) && !isUnchanged(ifNoneMatch, etag)
}

/** The tags of `If-None-Match`, without `W/` and quotes; none for `*`. */
export function tagsIn(ifNoneMatch: string): string[] {
  return parseTags(ifNoneMatch).map((tag) => tag.replace(/^W\//, '').slice(1, -1))
}

function parseTags(header: string): string[] {
  return header.match(/(?:W\/)?"[^"]*"/g) ?? []
}
