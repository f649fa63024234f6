import { trimBlanks } from './white-space.ts'

/** The value of the first cookie with a name in a `Cookie` header (RFC 6265 section 5.4); undefined without one. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined
  for (let start = 0, end = 0; start < header.length; start = end + 1) {
    end = header.indexOf(';', start)
    if (end === -1) end = header.length
    const pair = header.slice(start, end)
    const equals = pair.indexOf('=')
    if (equals !== -1 && trimBlanks(pair.slice(0, equals)) === name) return trimBlanks(pair.slice(equals + 1))
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
