import { trimBlanks } from './white-space.ts'

/** So that a header costs no more checks. A browser sends one, and those that pages of sibling sites have set. */
const COOKIES_TRIED_MAX = 8

/**
 * Tries the values of the cookies with a name in a `Cookie` header, in their order (RFC 6265 section 5.4). A page of a
 * sibling site can set a cookie of the same name, which may come first.
 *
 * @param find Called for at most COOKIES_TRIED_MAX values, until it returns something.
 * @returns What it returned; undefined if it found nothing.
 */
export function findCookie<Found>(
  header: string | undefined,
  name: string,
  find: (value: string) => Found | undefined,
): Found | undefined {
  if (header === undefined) return undefined
  let tried = 0
  for (let start = 0, end = 0; start < header.length && tried < COOKIES_TRIED_MAX; start = end + 1) {
    end = header.indexOf(';', start)
    if (end === -1) end = header.length
    const pair = header.slice(start, end)
    const equals = pair.indexOf('=')
    if (equals === -1 || trimBlanks(pair.slice(0, equals)) !== name) continue
    tried += 1
    const found = find(trimBlanks(pair.slice(equals + 1)))
    if (found !== undefined) return found
  }
  return undefined
}

export interface CookieOptions {
  readonly path: string
  /** Adds `Secure`: the client then sends the cookie over TLS only. */
  readonly isSecure: boolean
  /** Seconds; 0 makes the client forget the cookie. */
  readonly maxAgeSeconds: number
}

/** A `Set-Cookie` value; scripts cannot read the cookie, and other sites' requests do not carry it. */
export function formatCookie(
  name: string,
  value: string,
  { path, isSecure, maxAgeSeconds }: CookieOptions,
): string {
  const secure = isSecure ? '; Secure' : ''
  return `${name}=${value}; HttpOnly; SameSite=Strict; Path=${path}; Max-Age=${maxAgeSeconds}${secure}`
}
